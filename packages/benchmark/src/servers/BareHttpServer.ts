/**
 * Answers over HTTP as fast as it can: at `/json` with a JSON body, at `/sse` with an event stream. Prints its origin.
 *
 * It reads just as much of HTTP/1.1 as the clients here write, since `node:http` would be the slowest part of a
 * measurement.
 */
import { type AddressInfo, createServer, type Socket } from "node:net"
import { answer } from "./Answers.ts"

const json = (text: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

const eventStream = (text: string): string => {
  const event = `event: message\ndata: ${text}\n\n`
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
    `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n0\r\n\r\n`
}

const empty = (status: string): string => `HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`

const respond = (head: string, body: string): string => {
  if (!head.startsWith("POST ")) return empty("405 Method Not Allowed")
  const text = answer(body)
  if (text === undefined) return empty("202 Accepted")
  return head.startsWith("POST /sse") ? eventStream(text) : json(text)
}

const serve = (socket: Socket): void => {
  let received = ""
  socket.setNoDelay(true)
  // One character is one byte here: what the clients send is ASCII.
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk
    for (;;) {
      const headEnd = received.indexOf("\r\n\r\n")
      if (headEnd < 0) return
      const head = received.slice(0, headEnd)
      const bodyStart = headEnd + 4
      const bodyEnd = bodyStart + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (received.length < bodyEnd) return
      socket.write(respond(head, received.slice(bodyStart, bodyEnd)))
      received = received.slice(bodyEnd)
    }
  }).on("error", () => socket.destroy())
}

const server = createServer(serve)
server.listen(0, "127.0.0.1", () => {
  // Listening on a TCP port gives an `AddressInfo`; a string would name a pipe.
  const { port } = server.address() as AddressInfo
  process.stdout.write(`http://127.0.0.1:${port}\n`)
})
process.stdin.on("end", () => process.exit(0)).resume()
