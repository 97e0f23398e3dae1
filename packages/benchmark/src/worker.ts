/** The child of `Child.ts`: takes one measurement and sends it to its parent, or prints it where there is none. */
import { isMeasure, takers } from "./Measures.ts"

const [name = "", input = ""] = process.argv.slice(2)
if (!isMeasure(name)) throw new Error(`no such measurement: ${name}`)
const measured = await takers[name](input)
if (process.send === undefined) console.log(measured)
else process.send(measured, () => process.exit(0))
