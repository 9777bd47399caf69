#!/usr/bin/env node
// Runs the binary in the package for this system, which npm installs as an optional dependency.
const { spawnSync } = require("node:child_process");

const name = `khorovod-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "khorovod.exe" : "khorovod";
let binary;
try {
  binary = require.resolve(`${name}/bin/${program}`);
} catch {
  console.error(`The npm package ${name} is not installed: it is an optional dependency, and no other system has one.`);
  process.exit(1);
}
const { status, signal, error } = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (error) throw error;
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
