/** Answers on stdio as fast as it can, with one write for all the messages of one read. */
import { answer, closeText, openText } from "./Answers.ts"

const megabyte = Buffer.alloc(1_000_000, "x")

// The block is written again and again: what is measured is how the client reads it.
const answerBig = (text: string, megabytes: number): void => {
  process.stdout.write(openText(text))
  for (let written = 0; written < megabytes; written++) process.stdout.write(megabyte)
  process.stdout.write(`${closeText}\n`)
}

let rest = ""
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n")
  rest = lines.pop() ?? ""
  let answers = ""
  for (const line of lines) {
    const megabytes = /"megabytes":(\d+)/.exec(line)?.[1]
    if (megabytes !== undefined && line.includes("\"tools/call\"")) answerBig(line, Number(megabytes))
    else {
      const text = answer(line)
      if (text !== undefined) answers += `${text}\n`
    }
  }
  if (answers !== "") process.stdout.write(answers)
}).on("end", () => process.exit(0))
