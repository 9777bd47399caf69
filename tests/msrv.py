#!/usr/bin/env python3
"""Holds the oldest Rust that Cargo.toml promises (`rust-version`): no crate that is linked asks for a newer one.

That our own code asks for none, clippy says (`incompatible_msrv`, in the stage lint) as far as the standard library goes.
Where rustup has that very toolchain, everything is compiled with it.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dist"))
from crates import reached  # noqa: E402


def number(version):
    return [int(part) for part in (version + ".0").split(".")[:3]]


def main():
    # What tests need may ask for more.
    root, edges, packages = reached(["--all-features"], lambda _, kinds: kinds != {"dev"})
    ours = packages[root]["rust_version"]
    found = {root, *(there for _, there in edges)}
    asked = [packages[id] for id in found if packages[id]["rust_version"]]
    wrong = [f"{one['name']} {one['version']} asks for Rust {one['rust_version']}" for one in asked if number(one["rust_version"]) > number(ours)]
    print("\n".join([*wrong, f"Rust {ours}: {len(found)} crates, {len(asked)} say what they ask for, {len(wrong)} for more"]))
    toolchain = ".".join((ours.split(".") + ["0"])[:3])
    if subprocess.run(["rustup", "run", toolchain, "rustc", "-V"], capture_output=True).returncode:
        reason = f"nothing was compiled with Rust {toolchain}, which is not installed: rustup toolchain install {toolchain}"
        subprocess.run([ROOT / "tests/note.sh", "partly", reason], check=True)
        return bool(wrong)
    check = ["rustup", "run", toolchain, "cargo", "check", "--locked", "--target-dir", ROOT / "target/msrv"]
    return bool(wrong) or subprocess.run(check, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
