#!/usr/bin/env python3
"""Checks the oldest Rust in Cargo.toml (`rust-version`): no linked crate may require a newer one.

For the project's own code, clippy checks the standard library (`incompatible_msrv`, in the stage lint). If rustup has that
toolchain, this script also compiles everything with it.
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
    # Dependencies of tests may require a newer version.
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
