import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

/** Tells the parent a URL on standard output, and ends when the parent is gone. */
export const announceUrl = (url: string): void => {
  process.stdout.write(`listening ${url}\n`)
  process.stdin.on("end", () => process.exit(0)).resume()
}

/** Tells the parent where a server listens. */
export const announce = (server: Server): void => {
  // Listening on a TCP port gives an `AddressInfo`; a string would name a pipe.
  const { port } = server.address() as AddressInfo
  announceUrl(`http://127.0.0.1:${port}/mcp`)
}
