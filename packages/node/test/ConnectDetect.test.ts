import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Result } from "effect"
import { Connect } from "../src/index.ts"

const stdio = (command: string, ...args: ReadonlyArray<string>) => ({ _tag: "Stdio", command: { command, args } })
const http = (url: string) => ({ _tag: "StreamableHttp", url })
const sse = (url: string) => ({ _tag: "Sse", url })
const plain = (url: string) => ({ _tag: "Http", url })
const unknown = (url: string) => ({ _tag: "DetectHttp", url })

const detected = (target: Connect.Target, options?: Connect.TransportOptions): unknown =>
  Result.getOrThrow(Connect.detect(target, options))

const refused = (target: Connect.Target, options?: Connect.TransportOptions): McpError.InvalidRequest => {
  const result = Connect.detect(target, options)
  if (Result.isSuccess(result)) assert.fail(`${JSON.stringify(target)} was taken for ${JSON.stringify(result.success)}`)
  assert.strictEqual(result.failure.delivery, "unsent")
  if (result.failure.reason._tag !== "InvalidRequest") assert.fail(result.failure.reason._tag)
  return result.failure.reason
}

// What a host reads from a configuration file may be of any type.
const fromJson = (text: string) => JSON.parse(text)

describe("Connect.detect", () => {
  describe("URLs", () => {
    for (const url of ["http://localhost:8931/mcp", "https://api.example.com/v1/mcp?key=1", "http://[::1]:8080/mcp"]) {
      verifiesPure("CON-03", `${url} is Streamable HTTP`, () => {
        assert.deepStrictEqual(detected(url), http(url))
      })
    }

    for (const url of ["http://localhost/sse", "https://example.com/v1/SSE?key=1", "http://localhost/sse/"]) {
      verifiesPure("CON-02", `${url} is HTTP+SSE`, () => {
        assert.deepStrictEqual(detected(url), sse(url))
      })
    }

    for (const protocol of ["auto", "legacy"] as const) {
      verifiesPure("CON-17", `so it is with protocol "${protocol}"`, () => {
        assert.deepStrictEqual(detected("http://localhost/sse", { protocol }), sse("http://localhost/sse"))
      })
    }

    verifiesPure("CON-19", "a path that ends in /sse says nothing about a modern server", () => {
      assert.deepStrictEqual(
        detected("http://localhost/sse", { protocol: "modern" }),
        http("http://localhost/sse")
      )
    })

    verifiesPure("CON-07", "the transport of any other http(s) URL is found out", () => {
      for (
        const url of [
          "https://example.com/api/rpc",
          "http://localhost:8000/",
          "http://localhost/ssess",
          "http://localhost/?path=/mcp",
          "http://localhost/mcp/v1"
        ]
      ) assert.deepStrictEqual(detected(url), unknown(url))
    })

    verifiesPure("CON-20", "nothing is tried but Streamable HTTP for a modern server", () => {
      assert.deepStrictEqual(
        detected("https://example.com/api", { protocol: "modern" }),
        http("https://example.com/api")
      )
    })

    it("the scheme is read in any case, and white space around a URL is dropped", () => {
      assert.deepStrictEqual(detected(" HTTPS://Example.com/mcp\n"), http("https://example.com/mcp"))
    })

    it("a URL object is a URL", () => {
      assert.deepStrictEqual(detected(new URL("http://localhost/mcp")), http("http://localhost/mcp"))
    })

    for (const url of ["http://", "http://exa mple/mcp", "https://:80/mcp", "http://host:99999/mcp"]) {
      verifiesPure(["CON-24", "CON-26"], `${url} is refused: it cannot be read or has no host`, () => {
        const { message, path } = refused(url)
        assert.strictEqual(path, "target")
        assert.include(message, "the URL cannot be read")
        assert.include(message, "http(s) URL")
      })
    }

    for (const url of ["ws://localhost/mcp", "file:///etc/passwd", "ftp://example.com/mcp"]) {
      verifiesPure(["CON-24", "CON-26"], `${url} is refused: its scheme is another`, () => {
        refused(url)
        assert.include(refused(new URL(url)).message, "not http or https")
      })
    }

    verifiesPure("CON-26", "an address to listen on is accepted", () => {
      assert.deepStrictEqual(detected("http://0.0.0.0:3000/mcp"), http("http://0.0.0.0:3000/mcp"))
    })
  })

  describe("commands", () => {
    const launchers = [
      "npx -y server",
      "npm exec server",
      "pnpm dlx server",
      "yarn dlx server",
      "node server.js",
      "tsx server.ts",
      "bun server.ts",
      "bunx server",
      "deno run server.ts",
      "python server.py",
      "python3 server.py",
      "python3.12 -m server",
      "uv run server",
      "uvx server",
      "pipx run server",
      "ruby server.rb",
      "php server.php",
      "java -jar server.jar",
      "cargo run",
      "go run ./server",
      "dotnet run",
      "docker run -i server",
      "podman run -i server",
      "/usr/bin/node server.js",
      "npx.cmd -y server"
    ]
    for (const text of launchers) {
      verifiesPure("CON-05", `"${text}" starts with a known launcher`, () => {
        const [command = "", ...args] = text.split(" ")
        assert.deepStrictEqual(detected(text), stdio(command, ...args))
      })
    }

    verifiesPure("CON-04", "stdio:// stands before any command", () => {
      assert.deepStrictEqual(detected("stdio://./my-server --flag"), stdio("./my-server", "--flag"))
      assert.deepStrictEqual(detected("stdio://npx -y server"), stdio("npx", "-y", "server"))
      assert.deepStrictEqual(detected("STDIO://my-server"), stdio("my-server"))
    })

    verifiesPure("CON-04", "an array is a command and its arguments, as they stand", () => {
      assert.deepStrictEqual(
        detected(["my server", "a b", "$HOME", "", "http://upstream/mcp"]),
        stdio("my server", "a b", "$HOME", "", "http://upstream/mcp")
      )
    })

    it("an object is a command with its settings", () => {
      const command = {
        command: "my-server",
        args: ["--flag"],
        env: { A: "1" },
        cwd: "/tmp",
        inheritEnv: "none"
      } as const
      assert.deepStrictEqual(detected(command), { _tag: "Stdio", command })
    })

    it("a command is split as a POSIX shell does", () => {
      assert.deepStrictEqual(
        detected(String.raw`  node   "my server.js" --name='it is "it"' a\ b "" "c\"d" '$HOME' '*'  `),
        stdio("node", "my server.js", `--name=it is "it"`, "a b", "", `c"d`, "$HOME", "*")
      )
    })

    for (
      const text of [
        "node a.js | tee log",
        "node a.js > log",
        "node $HOME/a.js",
        "node ~/a.js",
        "node *.js",
        "node `a`"
      ]
    ) {
      it(`"${text}" is refused: it needs a shell`, () => {
        const { message, path } = refused(text)
        assert.strictEqual(path, "target")
        assert.include(message, "no shell runs")
        assert.include(message, "array")
      })
    }

    it("an open quote and a last backslash are refused", () => {
      assert.include(refused(`node "a.js`).message, "quote in it is not closed")
      assert.include(refused("node a.js \\").message, "backslash")
    })

    verifiesPure(
      "CON-24",
      "what is neither a URL nor a known command is refused, with the forms that are accepted",
      () => {
        for (
          const target of [
            "",
            " ",
            "my-server",
            "localhost:3000/mcp",
            "nodejs server.js",
            "gopher run",
            "go build",
            "//host/mcp"
          ]
        ) {
          const { message, path } = refused(target)
          assert.strictEqual(path, "target")
          for (
            const form of ["http(s) URL", "npx -y some-server", "stdio://", "array", "{ command, args, env, cwd }"]
          ) {
            assert.include(message, form)
          }
        }
      }
    )

    verifiesPure("CON-24", "a command without a program is refused", () => {
      refused("stdio://")
      refused(`stdio://"" --flag`)
      refused([])
      refused([""])
      refused({ command: " " })
    })

    verifiesPure("CON-24", "what a configuration file may hold by mistake is refused", () => {
      for (const json of ["null", "1", "true", "{}", `{ "command": 1 }`, `[1]`, `["npx", null]`]) {
        refused(fromJson(json))
      }
    })

    verifiesPure("CON-24", "a list of servers is no target, and the error says so", () => {
      assert.include(refused(["http://a/mcp", "http://b/mcp"]).message, "connect to each by itself")
      assert.include(refused(["stdio://a", "stdio://b"]).message, "connect to each by itself")
    })

    verifiesPure("CON-24", "a refusal does not repeat the target, which may hold a secret", () => {
      assert.notInclude(refused("my-server --token=s3cret").message, "s3cret")
      assert.notInclude(refused("http://user:s3cret@:80/mcp").message, "s3cret")
      assert.notInclude(refused("node $s3cret").message, "s3cret")
    })
  })

  describe("transport", () => {
    verifiesPure("CON-11", "stdio is forced, whatever the target looks like", () => {
      assert.deepStrictEqual(detected("my-server --flag", { transport: "stdio" }), stdio("my-server", "--flag"))
      assert.deepStrictEqual(detected("http://host/mcp", { transport: "stdio" }), stdio("http://host/mcp"))
    })

    verifiesPure("CON-11", "Streamable HTTP is forced, whatever the URL looks like", () => {
      assert.deepStrictEqual(detected("http://host/sse", { transport: "streamable-http" }), http("http://host/sse"))
    })

    verifiesPure("CON-11", "HTTP+SSE and plain HTTP are forced, whatever the URL looks like", () => {
      assert.deepStrictEqual(detected("http://host/mcp", { transport: "sse" }), sse("http://host/mcp"))
      assert.deepStrictEqual(detected("http://host/sse", { transport: "http" }), plain("http://host/sse"))
    })

    verifiesPure("CON-18", "HTTP+SSE is refused for a modern server", () => {
      for (const target of ["http://host/sse", "http://host/mcp"]) {
        const { message, path } = refused(target, { transport: "sse", protocol: "modern" })
        assert.strictEqual(path, "protocol")
        assert.include(message, "no modern revision")
      }
      assert.deepStrictEqual(
        detected("http://host/sse", { transport: "sse", protocol: "legacy" }),
        sse("http://host/sse")
      )
    })

    verifiesPure("CON-11", "what cannot be forced is refused", () => {
      for (const transport of ["streamable-http", "http", "sse"] as const) {
        refused("npx -y server", { transport })
        refused(["npx", "-y", "server"], { transport })
        refused({ command: "npx" }, { transport })
        refused("ftp://host/mcp", { transport })
      }
      refused(new URL("http://host/mcp"), { transport: "stdio" })
    })

    for (const transport of [`"SSE"`, `"https"`, `"STDIO"`, `"auto"`, `""`, "null", "1"]) {
      verifiesPure("CON-11", `transport ${transport} is refused`, () => {
        const { message, path } = refused("http://host/mcp", { transport: fromJson(transport) })
        assert.strictEqual(path, "transport")
        assert.include(message, `"stdio", "streamable-http", "http" and "sse"`)
      })
    }
  })

  describe("what a target cannot take", () => {
    it("headers are refused for a command", () => {
      assert.strictEqual(refused("npx -y server", { headers: { authorization: "Bearer x" } }).path, "headers")
    })

    it("variables are refused for a URL", () => {
      for (const url of ["http://host/mcp", "http://host/sse", "http://host/"]) {
        assert.strictEqual(refused(url, { env: { TOKEN: "x" } }).path, "env")
      }
    })
  })
})
