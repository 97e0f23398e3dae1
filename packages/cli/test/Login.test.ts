import { assert, describe, it } from "@effect/vitest"
import { Authorize } from "@mcp-effect/auth"
import type { Account, Registration } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { Options } from "../src/Server.ts"
import { run, type Screen } from "./Run.ts"
import * as ScriptedTerminal from "./ScriptedTerminal.ts"

const url = "https://tracker.example/mcp"

const ada: Account.Account = {
  issuer: "https://auth.example",
  isCurrent: true,
  isSignedIn: true,
  clientId: "app",
  scopes: ["read", "write"],
  resource: url,
  // 2033-05-18T03:33:20Z
  expiresAt: 2_000_000_000_000,
  canRefresh: true
}

/** Runs a command against a server that is connected to, and keeps what it was told. */
const watching = Effect.fnUntraced(function*(argv: ReadonlyArray<string>, screen: Screen = {}) {
  const connections: Array<Options> = []
  const written = yield* run(argv, {}, {
    ...screen,
    onConnect: (options) => {
      connections.push(options)
      return screen.onConnect?.(options) ?? Effect.void
    }
  })
  return { ...written, connections }
})

/** What is ready to receive the answer of a sign-in, by what a command gave to the client. */
const receiverOf = (
  { oauth }: Options
): Effect.Effect<Authorize.Receiver | undefined, McpError.McpError, Scope.Scope> =>
  Effect.flatMap(
    Layer.build(oauth?.authorize ?? Layer.effect(Authorize.Authorize, Effect.die("no way to sign in"))),
    (context) => Effect.provide(Effect.flatMap(Authorize.Authorize, ({ receiver }) => receiver), context)
  )

const lines = (text: string): ReadonlyArray<string> => text.trimEnd().split("\n")

describe("login", () => {
  it.effect("is told what cannot be meant", () =>
    Effect.gen(function*() {
      const table: ReadonlyArray<readonly [argv: ReadonlyArray<string>, message: string]> = [
        [["login"], "No server is given"],
        [["login", "--", "some-server"], "Only a server at a URL is signed in to"],
        [["login", url, "--header", "authorization: Bearer x"], "--header gives a token of its own"],
        [["login", url, "--client-id", "app"], "--client-id needs the --issuer"],
        [["login", url, "--client-id", "app", "--issuer", "auth"], "--client-id needs the --issuer"],
        [["login", url, "--issuer", "https://auth.example"], "go with --client-id"],
        [["login", url, "--client-secret", "NAME"], "go with --client-id"],
        [["login", url, "--callback-port", "0"], "a port from 1 to 65535"],
        [["whoami", "--", "some-server"], "Only a server at a URL is signed in to"],
        [["logout", "--", "some-server"], "Only a server at a URL is signed in to"]
      ]
      for (const [argv, message] of table) {
        const { code, connections, stderr } = yield* watching(argv)
        assert.deepStrictEqual([code, connections.length], [2, 0], argv.join(" "))
        assert.include(stderr, message)
      }
    }))

  verifies(
    "ERR-12",
    "takes a secret from a variable, and repeats none that stands on the command line",
    () =>
      Effect.gen(function*() {
        const client = ["--client-id", "app", "--issuer", "https://auth.example", "--client-secret"]
        const leaked = yield* watching(["login", url, ...client, "s3cret-value"])
        assert.deepStrictEqual([leaked.code, leaked.connections.length], [2, 0])
        assert.notInclude(leaked.stderr, "s3cret-value")

        process.env["TEST_CLIENT_SECRET"] = "s3cret-value\n"
        yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env["TEST_CLIENT_SECRET"]))
        const kept: Array<Registration.Preregistered> = []
        const signedIn: Array<Account.Account> = []
        const { code, connections, stderr, stdout } = yield* watching(
          ["login", url, "--scope", "read", "--scope", "write", ...client, "TEST_CLIENT_SECRET"],
          {
            onConnect: () => Effect.sync(() => void signedIn.push(ada)),
            accounts: {
              list: () => Effect.succeed(signedIn),
              keepClient: (_, client) => Effect.sync(() => kept.push(client) > 0)
            }
          }
        )
        assert.deepStrictEqual([code, stderr], [0, ""])
        const oauth = connections[0]?.oauth
        assert.deepStrictEqual(oauth?.scopes, ["read", "write"])
        assert.deepStrictEqual(oauth?.clients, kept)
        const [{ clientId, clientSecret, issuer }] = kept as [Registration.Preregistered]
        assert.deepStrictEqual([clientId, issuer], ["app", "https://auth.example"])
        assert(Redacted.isRedacted(clientSecret))
        assert.strictEqual(Redacted.value(clientSecret), "s3cret-value")
        assert.deepStrictEqual(lines(stdout), [
          "Signed in  https://auth.example",
          "Client     app",
          "Scopes     read write",
          `Resource   ${url}`,
          "Token      until 2033-05-18T03:33:20Z, renewed without a sign-in"
        ])
      })
  )

  it.effect("leaves a sign-in that is there alone", () =>
    Effect.gen(function*() {
      const accounts: Screen["accounts"] = { list: () => Effect.succeed([ada]) }
      const same = yield* watching(["login", url, "--scope", "read"], { accounts })
      assert.deepStrictEqual([same.code, same.connections.length], [0, 1])
      const client = ["--client-id", "other", "--issuer", "https://auth.example"]
      for (const [argv, how] of [[client, "another client"], [["--scope", "admin"], "other scopes"]] as const) {
        const { code, connections, stderr } = yield* watching(["login", url, ...argv], { accounts })
        assert.deepStrictEqual([code, connections.length], [2, 0])
        assert.include(stderr, how)
        assert.include(stderr, `mcp-effect logout ${url}`)
      }
      // One that is over is none.
      yield* TestClock.setTime(2_000_000_000_000)
      const over = { list: () => Effect.succeed([{ ...ada, canRefresh: false }]) }
      assert.strictEqual((yield* watching(["login", url, ...client], { accounts: over })).connections.length, 1)
    }))

  it.effect("tells that the server wants nobody to sign in", () =>
    Effect.gen(function*() {
      const text = yield* watching(["login", url])
      assert.deepStrictEqual([text.code, text.stdout, text.stderr], [0, "", "The server wants nobody to sign in.\n"])
      const json = yield* watching(["login", url, "-o", "json"])
      assert.deepStrictEqual([json.stdout, json.stderr], ["{\"accounts\":[]}\n", ""])
    }))

  verifies(
    "OAZ-11",
    "--no-browser takes the address from the terminal, and asks again for one that is none",
    () =>
      Effect.gen(function*() {
        const back = "http://127.0.0.1:8765/callback?state=s1&code=c1"
        const person = yield* ScriptedTerminal.make(
          ["https://auth.example/page", back].map((text) => text + ScriptedTerminal.enter).join("")
        )
        const answers: Array<string> = []
        const { code, stderr } = yield* watching(["login", url, "--no-browser", "--callback-port", "8765"], {
          terminal: person.terminal,
          onConnect: (options) =>
            Effect.gen(function*() {
              const receiver = yield* receiverOf(options)
              assert(receiver !== undefined)
              const answer = yield* receiver.authorize({
                url: new URL("https://auth.example/authorize?state=s1"),
                redirectUri: receiver.redirectUri,
                server: new URL(url),
                issuer: "https://auth.example",
                accepts: (parameters) => parameters.get("state") === "s1",
                verdictOf: () => "code"
              })
              answers.push(receiver.redirectUri, String(answer))
            })
        })
        assert.deepStrictEqual([code, answers], [0, ["http://127.0.0.1:8765/callback", "state=s1&code=c1"]])
        assert.strictEqual(person.shown().split("https://auth.example/authorize?state=s1").length, 3)
        assert.include(person.shown(), "this is not the address")
        assert.notInclude(stderr, "c1")
      })
  )

  it.effect("--no-browser is given up by Escape", () =>
    Effect.gen(function*() {
      const { terminal } = yield* ScriptedTerminal.make(ScriptedTerminal.escape)
      const { code, stderr } = yield* watching(["login", url, "--no-browser"], {
        terminal,
        onConnect: (options) =>
          Effect.flatMap(receiverOf(options), (receiver) =>
            Effect.asVoid(
              receiver?.authorize({
                url: new URL("https://auth.example/authorize"),
                redirectUri: receiver.redirectUri,
                server: new URL(url),
                issuer: "https://auth.example",
                accepts: () => true,
                verdictOf: () => "code"
              }) ?? Effect.void
            ))
      })
      assert.strictEqual(code, 6)
      assert.include(stderr, "no address was given")
    }))

  it.effect("--no-browser says what to do where nobody can be asked", () =>
    Effect.gen(function*() {
      const { terminal } = yield* ScriptedTerminal.make("")
      for (const [argv, screen] of [[[], {}], [["-o", "json"], { terminal }]] as const) {
        const { code, connections, stderr } = yield* watching(["login", url, "--no-browser", ...argv], screen)
        assert.deepStrictEqual([code, connections.length], [2, 0])
        assert.include(stderr, "ssh -L 8765:127.0.0.1:8765")
      }
    }))
})

describe("any other command", () => {
  verifies(
    "OAS-01",
    "signs in by itself for whoever is at the terminal, and for nobody else",
    () =>
      Effect.gen(function*() {
        const { terminal } = yield* ScriptedTerminal.make("")
        const receivers: Array<string | undefined> = []
        const onConnect: Screen["onConnect"] = (options) =>
          Effect.map(receiverOf(options), (receiver) => void receivers.push(receiver?.redirectUri))
        yield* watching(["tools", url], { terminal, onConnect })
        yield* watching(["tools", url], { onConnect })
        assert.match(receivers[0] ?? "", /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        assert.deepStrictEqual(receivers.slice(1), [undefined])
        // A server without a URL is not signed in to, and who brings a token needs no other.
        for (const argv of [["tools", "--", "some-server"], ["tools", url, "-H", "Authorization: Bearer x"]]) {
          const { connections } = yield* watching(argv, { terminal })
          assert.deepStrictEqual(connections.map(({ oauth }) => oauth), [undefined])
        }
      })
  )

  it.effect("tells who cannot be asked what to do", () =>
    Effect.gen(function*() {
      const failing = (reason: McpError.McpErrorReason) => run(["tools", url], McpError.make(reason, "refused"))
      const unauthorized = yield* failing(new McpError.Unauthorized({ challenges: [] }))
      assert.strictEqual(unauthorized.code, 6)
      assert.include(unauthorized.stderr, "  hint: sign in: mcp-effect login URL, or give a token")
      const ended = yield* failing(new McpError.InvalidGrant({ issuer: "https://auth.example", excerpt: "gone" }))
      assert.strictEqual(ended.code, 6)
      assert.include(
        ended.stderr,
        "  the authorization server: https://auth.example\n  it said: gone\n  hint: sign in: mcp-effect login URL\n"
      )
      const unknown = yield* failing(new McpError.AuthorizationFailed({ stage: "registration", problem: "no client" }))
      assert.include(unknown.stderr, "--client-id ID --issuer ISSUER")
      const refused = (status: number) =>
        failing(new McpError.AuthorizationFailed({ stage: "token", problem: `HTTP ${status}`, status }))
      assert.include((yield* refused(400)).stderr, "mcp-effect logout URL, then mcp-effect login URL")
      assert.notInclude((yield* refused(503)).stderr, "hint")
    }))
})

describe("whoami", () => {
  it.effect("shows what is known, and nothing that a terminal obeys", () =>
    Effect.gen(function*() {
      const former: Account.Account = {
        ...ada,
        issuer: "https://old.example/\u001b[2J",
        isCurrent: false,
        clientId: undefined,
        scopes: [],
        resource: undefined,
        expiresAt: undefined,
        canRefresh: false
      }
      const registered: Account.Account = {
        ...ada,
        issuer: "https://third.example",
        isCurrent: false,
        isSignedIn: false
      }
      const accounts: Screen["accounts"] = { list: () => Effect.succeed([ada, former, registered]) }
      const { code, connections, stdout } = yield* watching(["whoami", url], { accounts })
      assert.deepStrictEqual([code, connections], [0, []])
      assert.deepStrictEqual(lines(stdout).slice(5), [
        "",
        "Signed in  https://old.example/\\u001b[2J (which the server does not name any more)",
        "Token      ends at a time that was not told"
      ])
      const json = yield* watching(["whoami", url, "-o", "json"], { accounts })
      assert.deepStrictEqual(JSON.parse(json.stdout).accounts[0], {
        issuer: "https://auth.example",
        current: true,
        signedIn: true,
        clientId: "app",
        scopes: ["read", "write"],
        resource: url,
        expiresAt: "2033-05-18T03:33:20.000Z",
        refreshable: true
      })
    }))

  it.effect("fails with 6 where nobody is signed in any more", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(2_000_000_000_000)
      const table: ReadonlyArray<readonly [ReadonlyArray<Account.Account>, number, string]> = [
        [[], 6, "Nobody is signed in"],
        [[{ ...ada, isCurrent: false }], 6, "Nobody is signed in"],
        [[{ ...ada, isSignedIn: false, canRefresh: false }], 6, "Nobody is signed in"],
        [[{ ...ada, canRefresh: false }], 6, "has ended"],
        [[ada], 0, ""]
      ]
      for (const [known, code, message] of table) {
        const written = yield* watching(["whoami", url], { accounts: { list: () => Effect.succeed(known) } })
        assert.strictEqual(written.code, code)
        assert.include(written.stderr, message)
        if (code !== 0) assert.include(written.stderr, "mcp-effect login URL")
      }
    }))
})

describe("logout", () => {
  it.effect("tells what became of the tokens", () =>
    Effect.gen(function*() {
      const asked: Array<string | undefined> = []
      const accounts: Screen["accounts"] = {
        forget: (_, { registration }) => {
          asked.push(registration)
          return Effect.succeed([
            { issuer: "https://auth.example", isRevoked: true },
            { issuer: "https://old.example", isRevoked: false }
          ])
        }
      }
      const text = yield* watching(["logout", url], { accounts })
      assert.deepStrictEqual([text.code, text.connections, lines(text.stdout)], [0, [], [
        "Signed out: https://auth.example has revoked the token",
        "Signed out: https://old.example was not told, or did not confirm it; the token is forgotten here"
      ]])
      const json = yield* watching(["logout", url, "--forget-client", "-o", "json"], { accounts })
      assert.deepStrictEqual(JSON.parse(json.stdout).signedOut[1], { issuer: "https://old.example", revoked: false })
      assert.deepStrictEqual(asked, ["keep", "forget"])
      assert.strictEqual((yield* watching(["logout", url])).stderr, "Nobody was signed in at this server.\n")
    }))
})
