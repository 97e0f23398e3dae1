#!/usr/bin/env node
// Imports nothing before the check: what an older Node says while it loads the program is a riddle.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `mcp-effect needs Node 22.19 or newer, and this is Node ${process.versions.node} (${process.execPath}): `
      + "install a newer one, or run `npx -p node@24 -p mcp-effect mcp-effect ...`\n"
  )
  process.exitCode = 1
} else {
  await import("./main.ts")
}
