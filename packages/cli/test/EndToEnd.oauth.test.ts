import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe } from "@effect/vitest"
import * as ScriptedBrowser from "@mcp-effect/conformance/auth/ScriptedBrowser"
import * as AuthorizationServer from "@mcp-effect/conformance/servers/AuthorizationServer"
import * as ProtectedServer from "@mcp-effect/conformance/servers/ProtectedServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Accounts from "../src/Accounts.ts"
import * as Invocation from "../src/Invocation.ts"
import { Output } from "../src/Output.ts"
import { Person } from "../src/Person.ts"
import * as Program from "../src/Program.ts"
import * as Server from "../src/Server.ts"
import * as ScriptedTerminal from "./ScriptedTerminal.ts"
import { cli } from "./Spawn.ts"

const patience = 120_000

/** A protected server, the authorization server that it names, and somebody with a browser and a token file. */
const begin = Effect.fnUntraced(function*(
  options: AuthorizationServer.Options = {},
  choice: "allow" | "deny" = "allow"
) {
  const authorizationServer = yield* AuthorizationServer.start(options)
  const server = yield* ProtectedServer.start(authorizationServer)
  const browser = yield* ScriptedBrowser.make({ name: "ada", choice })
  const file = path.join(browser.folder, "state", "tokens.json")
  return { authorizationServer, server, browser, file, env: { ...browser.env, MCP_EFFECT_TOKEN_FILE: file } }
})

/** What stands in a token file as JSON inside JSON. */
const recordOf = (file: string, url: string) => JSON.parse(JSON.parse(fs.readFileSync(file, "utf8"))[url])

const isActive = ({ introspection }: AuthorizationServer.AuthorizationServer, token: string) =>
  Effect.promise(async () => {
    const { authorization, url } = introspection
    const body = new URLSearchParams({ token })
    const response = await fetch(url, { method: "POST", headers: { authorization }, body })
    return (await response.json() as { readonly active: boolean }).active
  })

describe("login", () => {
  verifiesLive(
    ["OAZ-11", "OAS-01", "ERR-12", "SEC-14"],
    "signs in with the browser; whatever runs afterwards is signed in, until logout",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, browser, env, file, server } = yield* begin()
        const { issuer } = authorizationServer
        const login = yield* cli(["login", server.url, "--verbose"], { env })
        assert.strictEqual(login.code, 0, login.stderr)
        const [visit, ...others] = yield* browser.visits(1)
        assert.deepStrictEqual([visit?.status, others], [200, []])
        assert.include(visit?.page, "Signed in")
        assert.include(login.stderr, `  ${visit?.url}\n`)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)

        const call = yield* cli(["call", "whoami", "--verbose", "--url", server.url], { env })
        const [{ token }] = recordOf(file, server.url).authorizations
        assert.deepStrictEqual([call.code, call.stdout], [0, `${token.clientId}\n`])
        const whoami = yield* cli(["whoami", server.url, "-o", "json"], { env })
        assert.deepInclude(JSON.parse(whoami.stdout).accounts[0], {
          issuer,
          clientId: token.clientId,
          scopes: ["read"],
          refreshable: true
        })
        assert.deepStrictEqual(authorizationServer.tokenRequests.map(({ grantType }) => grantType), [
          "authorization_code"
        ])

        assert.isTrue(yield* isActive(authorizationServer, token.accessToken))
        const logout = yield* cli(["logout", server.url, "--verbose"], { env })
        assert.deepStrictEqual([logout.code, logout.stdout], [0, `Signed out: ${issuer} has revoked the token\n`])
        for (const secret of [token.accessToken, token.refreshToken]) {
          assert.isFalse(yield* isActive(authorizationServer, secret))
          for (const text of [login, call, whoami, logout].flatMap(({ stderr, stdout }) => [stderr, stdout])) {
            assert.notInclude(text, secret)
          }
          assert.notInclude(fs.readFileSync(file, "utf8"), secret)
        }

        const nobody = yield* cli(["whoami", server.url], { env })
        assert.deepStrictEqual([nobody.code, nobody.stdout], [6, ""])
        // A script opens no browser.
        const tools = yield* cli(["tools", server.url], { env })
        assert.deepStrictEqual([tools.code, tools.stdout, (yield* browser.visits(1)).length], [6, "", 1])
        assert.include(tools.stderr, "  hint: sign in: mcp-effect login URL")
      }),
    patience
  )

  verifiesLive(
    ["OAD-20", "ERR-12"],
    "tells that the person said no, in the browser and here",
    () =>
      Effect.gen(function*() {
        const { browser, env, file, server } = yield* begin({}, "deny")
        const { code, stderr, stdout } = yield* cli(["login", server.url, "-o", "json"], { env })
        assert.deepStrictEqual([code, stdout], [6, ""])
        const [url, error] = stderr.trimEnd().split("\n").map((line) => JSON.parse(line))
        const [visit] = yield* browser.visits(1)
        assert.strictEqual(url.signIn.url, visit?.url)
        assert.deepInclude(error.error.reason, {
          stage: "sign-in",
          error: "access_denied",
          excerpt: "The person said no"
        })
        assert.deepStrictEqual([visit?.status, visit?.page.includes("Not signed in")], [400, true])
        assert.isUndefined(recordOf(file, server.url).authorizations[0].token)
      }),
    patience
  )

  verifiesLive(
    ["OAR-03", "OAR-04", "OAT-04"],
    "as a client that is registered beforehand, which later commands refresh as",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, browser, env, file, server } = yield* begin({
          clients: [{
            client_id: "app",
            client_secret: "s3cret: 100%",
            token_endpoint_auth_method: "client_secret_basic",
            grant_types: ["authorization_code", "refresh_token"],
            redirect_uris: ["http://127.0.0.1/callback"],
            response_types: ["code"],
            application_type: "native"
          }]
        })
        const login = (issuer: string) =>
          cli(["login", server.url, "--client-id", "app", "--issuer", issuer, "--client-secret", "-"], {
            env,
            stdin: "s3cret: 100%\n"
          })
        const elsewhere = yield* login("https://other.example")
        assert.deepStrictEqual([elsewhere.code, yield* browser.visits(0)], [6, []])
        assert.include(elsewhere.stderr, "they are not sent to it")
        const { code, stderr, stdout } = yield* login(authorizationServer.issuer)
        assert.strictEqual(code, 0, stderr)
        assert.include(stdout, "Client     app\n")

        const record = recordOf(file, server.url)
        record.authorizations[0].token.expiresAt = 1
        fs.writeFileSync(file, JSON.stringify({ [server.url]: JSON.stringify(record) }))
        const call = yield* cli(["call", "whoami", "--url", server.url], { env })
        assert.deepStrictEqual([call.code, call.stdout], [0, "app\n"])
        assert.deepStrictEqual(
          authorizationServer.tokenRequests.map(({ clientId, error, grantType }) => [clientId, error ?? grantType]),
          [["app", "authorization_code"], ["app", "refresh_token"]]
        )
      }),
    patience
  )
})

/** Sets variables of this process for the rest of the scope. */
const setting = (values: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = Object.keys(values).map((name) => [name, process.env[name]] as const)
      Object.assign(process.env, values)
      return before
    }),
    (before) =>
      Effect.sync(() => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name]
          else process.env[name] = value
        }
      })
  )

describe("a call at a terminal", () => {
  verifiesLive(
    ["OAS-01", "OAZ-11"],
    "starts the sign-in by itself, and again for a tool that needs more",
    () =>
      Effect.gen(function*() {
        const { browser, env, server } = yield* begin()
        yield* setting(env)
        const { terminal } = yield* ScriptedTerminal.make("")
        let stdout = ""
        const output = Layer.succeed(Output, {
          format: "text",
          columns: undefined,
          statusColumns: undefined,
          write: (text) =>
            Effect.sync(() => {
              stdout += text
            }),
          note: () => {},
          status: () => {},
          exclusively: (dialogue) => dialogue,
          flush: Effect.void
        })
        const code = yield* Program.run(Invocation.read(["call", "write", "--url", server.url])).pipe(
          Effect.provide([
            NodeServices.layer,
            Server.layer,
            Accounts.layer,
            output,
            Layer.succeed(Person, { terminal, colors: false })
          ])
        )
        assert.deepStrictEqual([code, stdout], [0, "written\n"])
        assert.deepStrictEqual(
          (yield* browser.visits(2)).map(({ status, url }) => [status, new URL(url).searchParams.get("scope")]),
          [[200, "read offline_access"], [200, "read write offline_access"]]
        )
      }),
    patience
  )
})
