{
  description = "Compiles a short training spec into plain Kubernetes objects";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";
  outputs = { self, nixpkgs }:
    let
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      facts = manifest.workspace.package;
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      package = pkgs: pkgs.rustPlatform.buildRustPackage {
        pname = "khorovod";
        version = facts.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        # `make test` runs the tests; they require programs that a build does not have.
        doCheck = false;
        nativeBuildInputs = [ pkgs.installShellFiles ];
        postInstall = ''
          for shell in bash zsh fish; do $out/bin/khorovod completions $shell >khorovod.$shell; done
          installShellCompletion khorovod.{bash,zsh,fish}
          $out/bin/khorovod man --dir man
          installManPage man/*
        '';
        meta = {
          description = manifest.package.description;
          homepage = facts.homepage;
          license = with pkgs.lib.licenses; [ asl20 mit ];
          mainProgram = "khorovod";
        };
      };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: { default = package nixpkgs.legacyPackages.${system}; });
    };
}
