# Evaluates the flake of the repository with replacements for nixpkgs: nix-instantiate --eval --strict --json tests/dist/flake.nix
let
  systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
  pkgs = {
    rustPlatform.buildRustPackage = arguments: { inherit (arguments) pname version meta doCheck nativeBuildInputs postInstall; lock = builtins.pathExists arguments.cargoLock.lockFile; };
    installShellFiles = "installShellFiles";
    lib.licenses = { asl20 = "Apache-2.0"; mit = "MIT"; };
  };
  nixpkgs = {
    lib.genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    legacyPackages = builtins.listToAttrs (map (name: { inherit name; value = pkgs; }) systems);
  };
  flake = import ../../flake.nix;
in
(flake.outputs { self = ../..; inherit nixpkgs; }).packages.x86_64-linux.default
