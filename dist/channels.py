"""The files with which other package managers find the archives of a release: krew, Homebrew and asdf."""

from archive import tree
from project import DOWNLOADS, HOMEPAGE, REPOSITORY, ROOT, VERSION

SUMMARY = "Compile a short training spec into plain objects"  # krew accepts 50 letters at most.

KREW = f"""\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: khorovod
spec:
  version: v{VERSION}
  homepage: {HOMEPAGE}
  shortDescription: {SUMMARY}
  description: |
    Compiles a TrainingJob in YAML into plain Kubernetes objects that run distributed training with Horovod, MPI,
    torchrun or DeepSpeed, without an operator and without a CRD. It does not connect to a cluster:

      kubectl khorovod render job.yaml | kubectl apply -f -
  platforms:
"""

BREW = f"""\
class Khorovod < Formula
  desc "{SUMMARY}"
  homepage "{HOMEPAGE}"
  version "{VERSION}"
  license any_of: ["Apache-2.0", "MIT"]
"""

BREW_INSTALL = """
  def install
    bin.install "khorovod"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/khorovod.bash" => "khorovod"
    zsh_completion.install "completions/_khorovod"
    fish_completion.install "completions/khorovod.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/khorovod --version")
  end
end
"""


def krew(sums):
    """Returns the manifest of the kubectl plugin. `sums` has the SHA-256 of the archive of each target."""
    platforms = [
        f"""\
  - selector:
      matchLabels: {{os: {target.system}, arch: {target.architecture}}}
    uri: {DOWNLOADS}/{target.archive}
    sha256: {digest}
    files:
    - {{from: {target.folder}/{target.program}, to: .}}
    - {{from: {target.folder}/LICENSE-*, to: .}}
    bin: {target.program}
"""
        for target, digest in sums.items()
    ]
    return KREW + "".join(platforms)


def homebrew(sums):
    """Returns the formula for macOS and Linux."""
    lines = []
    for system, block in (("darwin", "on_macos"), ("linux", "on_linux")):
        found = [(target, digest) for target, digest in sums.items() if target.system == system]
        if not found:
            continue
        lines += ["", f"  {block} do"]
        for target, digest in found:
            processor = {"amd64": "on_intel", "arm64": "on_arm"}[target.architecture]
            lines += [f"    {processor} do", f'      url "{DOWNLOADS}/{target.archive}"', f'      sha256 "{digest}"', "    end"]
        lines.append("  end")
    return BREW + "\n".join(lines) + "\n" + BREW_INSTALL


def asdf():
    """Returns the files of the plugin for asdf, which mise can use too."""
    files = tree(ROOT / "dist/asdf")
    return {name: (text.replace(b"@REPOSITORY@", REPOSITORY.encode()), mode) for name, (text, mode) in files.items()}
