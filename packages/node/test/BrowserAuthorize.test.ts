import { assert, describe } from "@effect/vitest"
import { Authorize } from "@mcp-effect/auth"
import { verifiesLive, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Deferred, Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { inspect } from "node:util"
import * as BrowserAuthorize from "../src/BrowserAuthorize.ts"
import * as Browser from "../src/internal/Browser.ts"

const url = new URL("https://auth.example/authorize?state=s1&client_id=%24%28touch%20x%29")

const requestOf = (redirectUri: string): Authorize.Request => ({
  url,
  redirectUri,
  server: new URL("https://mcp.example/mcp"),
  issuer: "https://auth.example",
  accepts: (parameters) => parameters.get("state") === "s1",
  verdictOf: (parameters) =>
    parameters.get("iss") === "https://evil.example" ? "invalid" : parameters.has("error") ? "refused" : "code"
})

const receiverOf = (options: BrowserAuthorize.Options) =>
  Effect.flatMap(
    BrowserAuthorize.make(options).receiver,
    (receiver) => receiver === undefined ? Effect.die("no receiver") : Effect.succeed(receiver)
  )

/** What a browser is told at an address. */
const visit = (address: string, init?: http.RequestOptions) =>
  Effect.callback<{ readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }>(
    (resume) => {
      const request = http.request(address, { agent: false, ...init }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part
        }).on(
          "end",
          () => resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
        )
      })
      request.on("error", (error) => resume(Effect.die(error)))
      request.end()
    }
  )

/** A sign-in under way: where the browser is to come back to, and what comes of it. */
const signIn = Effect.fnUntraced(function*(options: BrowserAuthorize.Options = {}) {
  const opened = yield* Deferred.make<URL>()
  const receiver = yield* receiverOf({
    open: (opening) => Effect.asVoid(Deferred.succeed(opened, opening)),
    ...options
  })
  const answer = yield* Effect.forkScoped(receiver.authorize(requestOf(receiver.redirectUri)))
  return { redirectUri: receiver.redirectUri, opened, answer }
})

const reasonOf = <A>(effect: Effect.Effect<A, McpError.McpError>) => Effect.map(Effect.flip(effect), (e) => e.reason)

describe("BrowserAuthorize", () => {
  verifiesLive(
    ["OAZ-11", "OAZ-08"],
    "opens the URL and gives what the browser comes back with",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { answer, opened, redirectUri } = yield* signIn()
        assert.match(redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        assert.strictEqual(yield* Deferred.await(opened), url)
        const page = yield* visit(`${redirectUri}?state=s1&code=c%201&iss=https%3A%2F%2Fauth.example`)
        assert.strictEqual(page.status, 200)
        assert.include(page.text, "Signed in")
        assert.notInclude(page.text, "c 1")
        assert.strictEqual(page.headers["cache-control"], "no-store")
        assert.strictEqual(page.headers["referrer-policy"], "no-referrer")
        assert.match(String(page.headers["content-security-policy"]), /default-src 'none'/)
        const parameters = yield* Fiber.join(answer)
        assert(parameters instanceof URLSearchParams)
        assert.deepStrictEqual([...parameters], [["state", "s1"], ["code", "c 1"], ["iss", "https://auth.example"]])
      }))
  )

  verifiesLive(
    ["OAZ-12", "OAZ-10", "PAIN-66"],
    "turns away what is no answer to this sign-in, and goes on waiting",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { answer, redirectUri } = yield* signIn()
        const origin = new URL(redirectUri).origin
        const stale = yield* visit(`${redirectUri}?state=old&code=stolen`)
        assert.deepStrictEqual([stale.status, stale.text.includes("stolen")], [400, false])
        assert.strictEqual((yield* visit(`${redirectUri}?code=c`)).status, 400)
        assert.strictEqual((yield* visit(origin)).status, 404)
        assert.strictEqual((yield* visit(`${origin}/callback/x?state=s1&code=c`)).status, 404)
        assert.strictEqual((yield* visit(`${redirectUri}?state=s1&code=c`, { method: "POST" })).status, 405)
        // A name that another site lets resolve to this machine.
        assert.strictEqual(
          (yield* visit(`${redirectUri}?state=s1&code=c`, { headers: { Host: "evil.example" } })).status,
          404
        )
        assert.isUndefined(answer.pollUnsafe())
        yield* visit(`${redirectUri}?state=s1&code=right`)
        const parameters = yield* Fiber.join(answer)
        assert(parameters instanceof URLSearchParams)
        assert.strictEqual(parameters.get("code"), "right")
        // One answer is enough: the second comes too late.
        assert.strictEqual((yield* visit(`${redirectUri}?state=s1&code=again`)).status, 400)
      }))
  )

  verifiesLive(
    "OAZ-12",
    "escapes what the authorization server says about its refusal",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { answer, redirectUri } = yield* signIn()
        const words = encodeURIComponent("<script>alert('x')</script>&")
        const page = yield* visit(`${redirectUri}?state=s1&error=access_denied&error_description=${words}`)
        assert.strictEqual(page.status, 400)
        assert.include(page.text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;")
        assert.notInclude(page.text, "<script>")
        const parameters = yield* Fiber.join(answer)
        assert(parameters instanceof URLSearchParams)
        assert.strictEqual(parameters.get("error"), "access_denied")
      }))
  )

  verifiesLive(
    ["OAZ-10", "OAZ-12"],
    "shows no word of another authorization server than the one that was asked, and calls nobody signed in by it",
    () =>
      Effect.scoped(Effect.gen(function*() {
        for (const rest of ["code=c", "error=access_denied&error_description=call-this-number"]) {
          const { answer, redirectUri } = yield* signIn()
          const page = yield* visit(`${redirectUri}?state=s1&iss=${encodeURIComponent("https://evil.example")}&${rest}`)
          assert.strictEqual(page.status, 400)
          assert.include(page.text, "Not signed in")
          assert.notInclude(page.text, "call-this-number")
          yield* Fiber.join(answer)
        }
      }))
  )

  verifiesLive(
    "OAZ-12",
    "takes the port and the path it is given, and says so when the port is in use",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { redirectUri } = yield* signIn({ path: "/back" })
        const port = Number(new URL(redirectUri).port)
        assert.strictEqual(redirectUri, `http://127.0.0.1:${port}/back`)
        const inUse = yield* reasonOf(Effect.scoped(receiverOf({ port })))
        assert(inUse._tag === "AuthorizationFailed")
        assert.include(inUse.problem, `port ${port}`)
        assert.include(inUse.problem, "in use")
        for (const options of [{ port: 65_536 }, { port: 1.5 }, { path: "back" }, { path: "/a?b" }]) {
          assert.strictEqual((yield* reasonOf(Effect.scoped(receiverOf(options))))._tag, "InvalidRequest")
        }
      }))
  )

  verifiesLive(
    "OAZ-12",
    "closes the server with the sign-in, and refuses more than a hundred headers",
    () =>
      Effect.gen(function*() {
        const closed = yield* Effect.scoped(Effect.gen(function*() {
          const { answer, redirectUri } = yield* signIn()
          const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, "1"]))
          // RFC 6585 section 5.
          assert.strictEqual((yield* visit(`${redirectUri}?state=s1&code=c`, { headers: many })).status, 431)
          yield* visit(`${redirectUri}?state=s1&code=c`)
          yield* Fiber.join(answer)
          return redirectUri
        }))
        const refused = yield* Effect.callback<string | undefined>((resume) => {
          http.get(closed).on("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code)))
        })
        assert.strictEqual(refused, "ECONNREFUSED")
      })
  )

  verifiesLive(
    "OAZ-11",
    "fails where no browser can be opened, unless the URL is shown",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const broken = McpError.make(new McpError.AuthorizationFailed({ stage: "sign-in", problem: "none" }), "unsent")
        const open = () => Effect.fail(broken)
        const silent = yield* receiverOf({ open })
        assert.strictEqual(yield* Effect.flip(silent.authorize(requestOf(silent.redirectUri))), broken)
        const shown: Array<string> = []
        const { answer, redirectUri } = yield* signIn({
          open,
          onUrl: (shownUrl) => Effect.sync(() => void shown.push(shownUrl.href))
        })
        yield* visit(`${redirectUri}?state=s1&code=c`)
        yield* Fiber.join(answer)
        assert.deepStrictEqual(shown, [url.href])
      }))
  )

  verifiesLive(
    "OAZ-11",
    "takes the address that a person brings back, and asks again for one that is none",
    () =>
      Effect.gen(function*() {
        const brought = [
          "https://auth.example/authorize?client_id=x",
          "http://127.0.0.1/callback?state=old&code=c",
          " http://127.0.0.1/callback?state=s1&code=right#fragment \n"
        ]
        const problems: Array<string> = []
        const layer = BrowserAuthorize.layerHeadless({
          ask: () => Effect.sync(() => brought.shift() ?? ""),
          onMistake: (problem) => Effect.sync(() => void problems.push(problem))
        })
        const run = Effect.flatMap(
          Authorize.Authorize,
          ({ receiver }) =>
            Effect.scoped(Effect.flatMap(receiver, (ready) =>
              ready === undefined ? Effect.die("none") : ready.authorize(requestOf(ready.redirectUri))))
        )
        const parameters = yield* Effect.provide(run, layer)
        assert(parameters instanceof URLSearchParams)
        assert.strictEqual(parameters.get("code"), "right")
        assert.strictEqual(problems.length, 2)
        const given = yield* reasonOf(Effect.provide(run, layer))
        assert.strictEqual(given._tag, "AuthorizationFailed")
      })
  )
})

describe("the browser", () => {
  verifiesPure("OAZ-11", "is opened without a shell, whatever the URL holds", () => {
    const hostile = "https://auth.example/?a=$(touch x)&b=%26;`id`"
    assert.deepStrictEqual([...Browser.commandFor("darwin", hostile)], ["open", hostile])
    assert.deepStrictEqual([...Browser.commandFor("win32", hostile)], [
      "rundll32.exe",
      "url.dll,FileProtocolHandler",
      hostile
    ])
    assert.deepStrictEqual([...Browser.commandFor("linux", hostile)], ["xdg-open", hostile])
  })

  verifiesLive(
    ["OAZ-11", "SEC-14"],
    "is given http and https alone, and its opener's failure is told",
    () =>
      Effect.scoped(Effect.gen(function*() {
        for (const scheme of ["file:///etc/passwd", "javascript:alert(1)", "vscode://x"]) {
          assert.strictEqual((yield* reasonOf(Browser.open(new URL(scheme))))._tag, "AuthorizationFailed")
        }
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "browser-"))),
          (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
        )
        const before = process.env["PATH"]
        yield* Effect.addFinalizer(() => Effect.sync(() => void (process.env["PATH"] = before)))
        process.env["PATH"] = folder
        const missing = yield* reasonOf(Browser.open(url, "linux"))
        assert(missing._tag === "AuthorizationFailed")
        assert.include(missing.problem, "xdg-open did not start (ENOENT)")
        assert.notInclude(inspect(missing, { depth: null, showHidden: true }), "state=s1")
        const opener = path.join(folder, "xdg-open")
        const seen = path.join(folder, "seen")
        fs.writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${seen}'\n`, { mode: 0o755 })
        yield* Browser.open(url, "linux")
        assert.strictEqual(fs.readFileSync(seen, "utf8"), `1\n${url.href}\n`)
        // More than Linux takes as one argument.
        const long = yield* reasonOf(Browser.open(new URL(`${url.href}&x=${"y".repeat(200_000)}`), "linux"))
        assert(long._tag === "AuthorizationFailed")
        assert.include(long.problem, "xdg-open did not start (E2BIG)")
        fs.writeFileSync(opener, "#!/bin/sh\nexit 3\n", { mode: 0o755 })
        const failed = yield* reasonOf(Browser.open(url, "linux"))
        assert(failed._tag === "AuthorizationFailed")
        assert.include(failed.problem, "exited with code 3")
      }))
  )
})
