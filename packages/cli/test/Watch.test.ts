import { assert, describe, it } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import { Revision, type Tool } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { run } from "./Run.ts"

const server = ["--", "some-server"]
const tool = (name: string, description?: string): Tool.Tool => ({ name, description, inputSchema: { type: "object" } })

const withoutTimes = (text: string): string => text.replace(/^\d\d:\d\d:\d\d(?= )/gm, "<time>")

describe("watch", () => {
  it.effect("shows a list, and then what changes about it", () =>
    Effect.gen(function*() {
      const watched: Partial<McpClient.McpClient> = {
        watchTools: Stream.make(
          [tool("a"), tool("b", "old")],
          [tool("b", "new"), tool("c\u001b[2J")],
          [tool("b", "new"), tool("c\u001b[2J")]
        )
      }
      const text = yield* run(["watch", "tools", ...server], watched)
      assert.strictEqual(
        withoutTimes(text.stdout),
        "TOOL  DESCRIPTION\na\nb     old\n"
          + "<time>  - a\n<time>  + c\\u001b[2J\n<time>  ~ b\n"
          + "<time>  the tools were announced as changed, and are the same\n"
      )
      const json = yield* run(["watch", "tools", "-o", "json", ...server], watched, { columns: 80 })
      assert.deepStrictEqual(
        json.stdout.trimEnd().split("\n").map((line) => JSON.parse(line).tools.map(({ name }: Tool.Tool) => name)),
        [["a", "b"], ["b", "c\u001b[2J"], ["b", "c\u001b[2J"]]
      )
      const none = yield* run(["watch", "prompts", ...server], { watchPrompts: Stream.make([]) })
      assert.strictEqual(withoutTimes(none.stdout), "<time>  the server offers no prompts\n")
    }))

  it.effect("shows what a resource holds, again at each update", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const { stdout } = yield* run(["watch", "resource", "file:///a", ...server], {
        watchResource: (uri) => {
          asked.push(uri)
          return Stream.make({ contents: [{ uri, text: "one" }] }, { contents: [{ uri, text: "two" }] })
        }
      })
      assert.deepStrictEqual(asked, ["file:///a"])
      assert.strictEqual(withoutTimes(stdout), "<time>  file:///a\none\n<time>  file:///a\ntwo\n")
    }))

  it.effect("shows log messages of the level that is asked for", () =>
    Effect.gen(function*() {
      const levels: Array<string> = []
      const talking = (revision: Revision.Facts): Partial<McpClient.McpClient> => ({
        server: Effect.succeed({
          revision,
          era: revision.era,
          generation: 1,
          capabilities: { logging: {} },
          serverInfo: undefined,
          instructions: undefined,
          supportedVersions: []
        }),
        setLogLevel: (level) => Effect.sync(() => void levels.push(level)),
        logs: Stream.make({ level: "warning", logger: "disk", data: "full" } as const)
      })
      const legacy = yield* run(["watch", "logs", "--level", "debug", ...server], talking(Revision.latestLegacy))
      assert.deepStrictEqual(levels, ["debug"])
      assert.strictEqual(withoutTimes(legacy.stdout), "<time>  warning  disk  full\n")
      assert.strictEqual(legacy.stderr, "")
      const modern = yield* run(["watch", "logs", ...server], talking(Revision.latestModern))
      assert.deepStrictEqual(levels, ["debug", "info"])
      assert.include(modern.stderr, "along with its answers")
    }))
})
