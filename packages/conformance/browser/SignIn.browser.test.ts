import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Deferred, Effect, Fiber } from "effect"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { text } from "node:stream/consumers"
import type { Page } from "playwright-core"
import * as Listening from "../src/auth/Listening.ts"
import * as ScriptedBrowser from "../src/auth/ScriptedBrowser.ts"
import * as AuthorizationServer from "../src/servers/AuthorizationServer.ts"
import * as ProtectedServer from "../src/servers/ProtectedServer.ts"
import * as Chromium from "./Chromium.ts"

const timeoutMillis = 120_000

/** A browser opener that hands its URL over to the test. */
const handOver = Effect.gen(function*() {
  const opened = yield* Deferred.make<string>()
  const place = yield* Listening.listen((origin) => ({
    handler: (request, response) => {
      text(request).then((url) => {
        Deferred.doneUnsafe(opened, Effect.succeed(url))
        response.end()
      }, () => response.destroy())
    },
    value: origin
  }))
  const send = "await fetch(process.argv[1], { method: 'POST', body: process.argv[2] })"
  const browser = yield* ScriptedBrowser.make({ name: "ada", choice: "allow" }, [
    process.execPath,
    "--input-type=module",
    "-e",
    send,
    place
  ])
  return { ...browser, opened: Deferred.await(opened) }
})

/** Runs the program, whose browser is one that `drive` sits at, and gives what it prints. */
const run = Effect.fnUntraced(function*(drive: (page: Page) => Promise<void>) {
  const authorizationServer = yield* AuthorizationServer.start()
  const server = yield* ProtectedServer.start(authorizationServer)
  const { env, folder, opened } = yield* handOver
  const page = yield* Chromium.page
  const program = path.join(import.meta.dirname, "Program.ts")
  const printed = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        process.execPath,
        ["--conditions=@mcp-effect/source", program, server.url, path.join(folder, "tokens.json")],
        { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] }
      )
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  ).pipe(
    Effect.flatMap(({ stdout }) => Effect.promise(() => text(stdout))),
    Effect.forkScoped
  )
  // A program that ends without opening a browser has failed.
  const url = yield* Effect.raceFirst(opened, Effect.map(Fiber.join(printed), (output) => `no URL: ${output}`))
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/auth\?/)
  yield* Effect.promise(async () => {
    await page.goto(url)
    await drive(page)
  })
  return { authorizationServer, page, output: JSON.parse(yield* Fiber.join(printed)) }
})

const heading = (page: Page): Promise<string> => page.locator("h1").innerText()

const signIn = async (page: Page): Promise<void> => {
  assert.strictEqual(await heading(page), "Sign in")
  await page.fill("#login", "ada")
  await page.click("#allow")
  await page.waitForSelector("#scopes")
}

describe("a sign-in in Chromium", () => {
  verifiesLive(
    ["OAZ-11", "OAZ-12", "OAS-01"],
    "is filled in and consented to, ends at the page of the program, and the tool is called",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, output, page } = yield* run(async (page) => {
          await signIn(page)
          assert.strictEqual(await page.locator("#client").innerText(), "mcp-effect")
          assert.deepStrictEqual(await page.locator("#scopes li").allInnerTexts(), ["read"])
          await page.click("#allow")
          await page.getByRole("heading", { name: "Signed in" }).waitFor()
        })
        assert.strictEqual(yield* Effect.promise(() => page.title()), "Signed in")
        assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/callback\?/)
        assert.include(
          yield* Effect.promise(() => page.locator("body").innerText()),
          "You can close this window and go back to the application."
        )
        // Its style is there, although the page may load nothing.
        assert.strictEqual(
          yield* Effect.promise(() => page.locator("body").evaluate((body) => getComputedStyle(body).maxWidth)),
          "563.2px"
        )
        const [{ clientId }] = authorizationServer.tokenRequests as [AuthorizationServer.TokenRequest]
        assert.deepStrictEqual(output, [{ type: "text", text: clientId }])
      }),
    timeoutMillis
  )

  verifiesLive(
    ["OAD-20", "OAZ-12", "ERR-12"],
    "is cancelled, ends at the page that says so, and the program gets a typed error",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, output, page } = yield* run(async (page) => {
          await signIn(page)
          await page.click("#deny")
          await page.getByRole("heading", { name: "Not signed in" }).waitFor()
        })
        assert.include(yield* Effect.promise(() => page.locator("body").innerText()), "It says: The person said no")
        assert.deepInclude(output, {
          _tag: "AuthorizationFailed",
          stage: "sign-in",
          error: "access_denied",
          excerpt: "The person said no",
          issuer: authorizationServer.issuer
        })
        assert.deepStrictEqual(authorizationServer.tokenRequests, [])
      }),
    timeoutMillis
  )
})
