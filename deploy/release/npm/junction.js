#!/usr/bin/env node
// Runs the binary of Junction for this platform, which is in a package of its own.
"use strict";
const name = `@junction-mcp/${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/junction${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`junction: the package ${name} is not installed: install junction-mcp with optional dependencies, or download the binary from https://github.com/junction-mcp/junction/releases`);
  process.exit(1);
}
const args = process.argv.slice(2);
if (process.execve) process.execve(binary, [binary, ...args], process.env);
const child = require("node:child_process").spawn(binary, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (e) => {
  console.error(`junction: ${e.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
