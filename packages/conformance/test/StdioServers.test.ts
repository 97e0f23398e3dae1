import { describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import type { Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as RealServers from "../src/RealServers.ts"
import * as Menu from "./Menu.ts"

const timeoutMillis = 120_000

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "interop-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

interface Case {
  readonly title: string
  readonly command: (directory: string) => RealServers.Command
  readonly menu: (directory: string) => Menu.Menu
  readonly version: Revision.Version
  readonly protocol?: "legacy"
}

const filesystemMenu = (directory: string): Menu.Menu => ({
  call: { name: "read_text_file", args: { path: join(directory, "hello.txt") }, text: "hello from a file" },
  failing: { name: "read_text_file", args: { path: "/etc/passwd" } }
})

const memoryMenu: Menu.Menu = {
  call: {
    name: "create_entities",
    args: { entities: [{ name: "Ada", entityType: "person", observations: ["writes programs"] }] },
    text: "writes programs"
  }
}

const revisions: ReadonlyArray<Revision.Version> = [
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05"
]

const cases: ReadonlyArray<Case> = [
  { title: "server package, modern", command: () => RealServers.dual, menu: () => Menu.dual, version: "2026-07-28" },
  {
    title: "server package, legacy",
    command: () => RealServers.dual,
    menu: () => Menu.dual,
    version: "2025-11-25",
    protocol: "legacy"
  },
  ...revisions.map((version): Case => ({
    title: `Effect's McpServer, ${version}`,
    command: () => RealServers.effect(version),
    menu: () => Menu.fixture,
    version
  })),
  {
    title: "Effect's McpServer, all revisions",
    command: () => RealServers.effect(),
    menu: () => Menu.fixture,
    version: "2026-07-28"
  },
  { title: "fastmcp", command: () => RealServers.fastMcp, menu: () => Menu.fixture, version: "2025-11-25" },
  {
    title: "server-everything",
    command: () => RealServers.everything,
    menu: () => Menu.everything,
    version: "2025-11-25"
  },
  { title: "server-filesystem", command: RealServers.filesystem, menu: filesystemMenu, version: "2025-11-25" },
  {
    title: "server-memory",
    command: (directory) => RealServers.memory(join(directory, "memory.json")),
    menu: () => memoryMenu,
    version: "2025-11-25"
  }
]

const connected = Effect.fnUntraced(function*({ command, menu, protocol }: Case) {
  const directory = yield* temporaryDirectory
  writeFileSync(join(directory, "hello.txt"), "hello from a file")
  const pidFile = join(directory, "pids")
  return {
    // A server that starts on a busy machine is no silent one.
    connect: Connect.connect(RealServers.launched(pidFile, command(directory)), {
      protocol,
      probeTimeout: "30 seconds"
    }),
    menu: menu(directory),
    allGone: RealServers.allGone(pidFile)
  }
})

for (const one of cases) {
  describe(`stdio: ${one.title}`, () => {
    verifiesLive(
      [
        "CON-27",
        "CON-29",
        "ERA-01",
        "ERA-06",
        "STD-01",
        "STD-04",
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
        const { connect, menu } = yield* connected(one)
        yield* Menu.serves(yield* connect, one.version, menu)
      }),
      timeoutMillis
    )

    if (one.menu("").long !== undefined) {
      verifiesLive(
        ["CON-29", "STD-17"],
        "sees a call cancelled and serves on",
        Effect.fnUntraced(function*() {
          const { connect, menu } = yield* connected(one)
          yield* Menu.cancels(yield* connect, menu)
        }),
        timeoutMillis
      )
    }

    verifiesLive(
      ["CON-23", "CON-29", "PAIN-35"],
      "leaves no process behind, that of its launcher included",
      Effect.fnUntraced(function*() {
        const { allGone, connect } = yield* connected(one)
        yield* Effect.scoped(Effect.flatMap(connect, (client) => client.listTools()))
        yield* allGone
      }),
      timeoutMillis
    )
  })
}
