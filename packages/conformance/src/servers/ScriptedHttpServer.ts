/** A server over HTTP that does what the script in its argument says. Prints `listening <url>`. */
import { createServer, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { announce } from "./Announce.ts"
import { answer, fill, receive, type Received, type Script, type Step, stepsFor } from "./Script.ts"

const script: Script = JSON.parse(process.argv[2] ?? "{}")

const run = async (
  steps: ReadonlyArray<Step>,
  message: Received,
  count: number,
  response: ServerResponse
): Promise<void> => {
  let events = false
  const head = (status: number, contentType: string): void => {
    events = contentType.startsWith("text/event-stream")
    response.writeHead(status, { "content-type": contentType }).flushHeaders()
  }
  for (const step of steps) {
    switch (step.kind) {
      case "hang":
        return
      case "reset":
        response.destroy()
        return
      case "wait":
        await sleep(step.millis)
        break
      case "exit":
        return process.exit(step.code)
      case "complain":
        process.stderr.write(fill(step.text, message, count).repeat(step.times ?? 1))
        break
      case "respond":
        head(step.status, step.contentType ?? "application/json")
        break
      case "write":
        if (!response.headersSent) head(200, "application/json")
        response.write(fill(step.text, message, count).repeat(step.times ?? 1))
        break
      default: {
        const body = answer(script, step, message, count)
        if (body === undefined) {
          if (!response.headersSent) response.writeHead(202)
          break
        }
        if (!response.headersSent) head(200, "application/json")
        response.write(events ? `data: ${body}\n\n` : body)
      }
    }
  }
  response.end()
}

let received = 0
const server = createServer(async (request, response) => {
  if (request.method !== "POST") {
    response.writeHead(405).end()
    return
  }
  received += 1
  const message = receive(script, await text(request))
  await run(stepsFor(script, message), message, received, response)
})
server.listen(0, "127.0.0.1", () => announce(server))
