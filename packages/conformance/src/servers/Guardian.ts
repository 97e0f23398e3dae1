/**
 * Runs a server that does not watch its standard input, in the process group that this process leads, and ends the
 * group when standard input ends: whoever started it is gone, however that came.
 */
import { spawn } from "node:child_process"

const [command = "", ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ["pipe", "inherit", "inherit"] })
child.on("exit", (code) => process.exit(code ?? 1))
process.stdin.on("end", () => process.kill(-process.pid, "SIGKILL")).resume()
