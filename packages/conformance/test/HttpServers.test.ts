import { describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import type { Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as RealServers from "../src/RealServers.ts"
import * as Menu from "./Menu.ts"

const timeoutMillis = 120_000

interface Case {
  readonly title: string
  readonly start: typeof RealServers.dualHttp
  readonly menu: Menu.Menu
  readonly version: Revision.Version
  readonly protocol?: "legacy"
}

const cases: ReadonlyArray<Case> = [
  { title: "server package, modern", start: RealServers.dualHttp, menu: Menu.dual, version: "2026-07-28" },
  {
    title: "server package, legacy",
    start: RealServers.dualHttp,
    menu: Menu.dual,
    version: "2025-11-25",
    protocol: "legacy"
  },
  { title: "Effect's McpServer, modern", start: RealServers.effectHttp, menu: Menu.fixture, version: "2026-07-28" },
  {
    title: "Effect's McpServer, legacy",
    start: RealServers.effectHttp,
    menu: Menu.fixture,
    version: "2025-11-25",
    protocol: "legacy"
  },
  { title: "fastmcp", start: RealServers.fastMcpHttp, menu: Menu.fixture, version: "2025-11-25" },
  { title: "server-everything", start: RealServers.everythingHttp, menu: Menu.everything, version: "2025-11-25" },
  { title: "mcp-proxy, modern", start: RealServers.proxyHttp, menu: Menu.proxy, version: "2026-07-28" },
  {
    title: "mcp-proxy, legacy",
    start: RealServers.proxyHttp,
    menu: Menu.proxy,
    version: "2025-11-25",
    protocol: "legacy"
  }
]

for (const { menu, protocol, start, title, version } of cases) {
  const connect = Effect.flatMap(start, ({ url }) => Connect.connect(url, { protocol }))

  describe(`HTTP: ${title}`, () => {
    verifiesLive(
      [
        "CON-03",
        "CON-27",
        "CON-28",
        "CON-29",
        "ERA-01",
        "ERA-06",
        "SHT-01",
        "TOO-01",
        "TOO-02",
        "RSC-01",
        "RSC-02",
        "RSC-03",
        "PRO-01",
        "CMP-01",
        "PRG-01",
        "ERA-18"
      ],
      "agrees on its revision and serves what it offers",
      Effect.fnUntraced(function*() {
        yield* Menu.serves(yield* connect, version, menu)
      }),
      timeoutMillis
    )

    verifiesLive(
      ["CON-29", "PAIN-6"],
      "sees a call cancelled and serves on",
      Effect.fnUntraced(function*() {
        yield* Menu.cancels(yield* connect, menu)
      }),
      timeoutMillis
    )
  })
}
