/** Runs a command as a child that shares its standard streams, passes on no signals, and notes both process ids. */
import { spawn } from "node:child_process"
import { appendFileSync } from "node:fs"

const [pidFile = "", command = "", ...args] = process.argv.slice(2)
appendFileSync(pidFile, `${process.pid}\n`)
const child = spawn(command, args, { stdio: "inherit" })
appendFileSync(pidFile, `${child.pid}\n`)
child.on("exit", (code) => process.exit(code ?? 1))
