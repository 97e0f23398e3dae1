import { assert, describe, it } from "@effect/vitest"
import { UrlPolicy } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Effect, Exit } from "effect"

const remote = "https://mcp.example/mcp"
const local = "http://127.0.0.1:8080/mcp"

const isAllowed = (policy: UrlPolicy.UrlPolicy, url: string, server: string) =>
  Effect.map(Effect.exit(policy.check(new URL(url), { purpose: "token", server: new URL(server) })), Exit.isSuccess)

const refused = (url: string, server = remote, policy = UrlPolicy.strict) =>
  Effect.map(isAllowed(policy, url, server), (allowed) => assert.isFalse(allowed, `${url} for ${server}`))

const allowed = (url: string, server = remote, policy = UrlPolicy.strict) =>
  Effect.map(isAllowed(policy, url, server), (allowed) => assert.isTrue(allowed, `${url} for ${server}`))

describe("UrlPolicy.strict", () => {
  verifies(["OAD-11", "PAIN-71"], "takes https: on the public internet", () =>
    Effect.gen(function*() {
      for (
        const url of [
          "https://as.example/token",
          "https://as.example:8443/token?tenant=1",
          "https://8.8.8.8/",
          "https://172.32.0.1/",
          "https://100.128.0.1/",
          "https://169.253.255.255/",
          "https://[2606:4700:4700::1111]/",
          "https://[64:ff9b::808:808]/",
          "https://localhost.example/",
          "https://notlocalhost/"
        ]
      ) yield* allowed(url)
    }))

  verifies(["OAD-11", "PAIN-71"], "refuses plain HTTP, other schemes and user names", () =>
    Effect.gen(function*() {
      for (
        const url of [
          "http://as.example/token",
          "ftp://as.example/",
          "file:///etc/passwd",
          "javascript:alert(1)",
          "data:text/plain,x",
          "https://user@as.example/",
          "https://user:password@as.example/"
        ]
      ) yield* refused(url)
    }))

  verifies(
    ["OAD-14", "PAIN-71"],
    "refuses addresses of this machine and of private networks in every spelling",
    () =>
      Effect.gen(function*() {
        for (
          const host of [
            "127.0.0.1",
            "127.1",
            "127.255.255.254",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.0.0.1.",
            "0.0.0.0",
            "0",
            "localhost",
            "LOCALHOST.",
            "app.localhost",
            "10.0.0.1",
            "10.255.255.255",
            "0xa000001",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "0300.0250.1.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "metadata.google.internal",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:169.254.169.254]",
            "[::10.0.0.1]",
            "[64:ff9b::a00:1]",
            "[64:ff9b:1::808:808]",
            "[2002:a00:1::]",
            "[fe80::1]",
            "[febf::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[2001::1]"
          ]
        ) yield* refused(`https://${host}/latest/meta-data`)
      })
  )

  verifies(
    "OAD-11",
    "lets a server on this machine name plain HTTP on this machine and nothing else",
    () =>
      Effect.gen(function*() {
        for (
          const server of [
            local,
            "http://localhost:3000/mcp",
            "http://mcp.localhost/mcp",
            "http://[::1]/mcp",
            "http://127.9.9.9/mcp"
          ]
        ) {
          for (
            const url of [
              "http://127.0.0.1:9/token",
              "http://localhost/token",
              "http://[::1]:1/",
              "https://a.localhost/"
            ]
          ) {
            yield* allowed(url, server)
          }
          yield* allowed("https://as.example/token", server)
          for (const url of ["http://as.example/token", "http://10.0.0.1/", "https://169.254.169.254/"]) {
            yield* refused(url, server)
          }
        }
      })
  )

  verifies(
    "OAD-12",
    "does not resolve names by itself: a policy that does is put around it",
    () => allowed("https://points-inside.example/token")
  )

  it.effect("lets a server on a private network name its own host", () =>
    Effect.gen(function*() {
      yield* allowed("https://10.0.0.5:8443/token", "https://10.0.0.5:8443/mcp")
      yield* refused("https://10.0.0.5:9/token", "https://10.0.0.5:8443/mcp")
      yield* refused("https://10.0.0.6:8443/token", "https://10.0.0.5:8443/mcp")
      yield* refused("http://10.0.0.5/token", "http://10.0.0.5/mcp")
    }))

  verifies("PAIN-71", "says that nothing was sent, and nothing of what the peer wrote", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        UrlPolicy.strict.check(new URL("https://10.0.0.1/written-by-the-peer"), {
          purpose: "resource-metadata",
          server: new URL(remote)
        })
      )
      assert.strictEqual(error.delivery, "unsent")
      assert.strictEqual(
        error.message,
        "Authorization failed (discovery): the URL of the protected resource metadata points into a private network; "
          + "allow its origin by UrlPolicy.layerAllow if it is trusted; nothing was sent to it"
      )
    }))
})

describe("UrlPolicy.allow", () => {
  it.effect("lets the named origins through", () =>
    Effect.gen(function*() {
      const policy = UrlPolicy.allow(UrlPolicy.strict, ["https://10.0.0.1:8443/anything"])
      yield* allowed("https://10.0.0.1:8443/token", remote, policy)
      yield* refused("https://10.0.0.1/token", remote, policy)
      yield* refused("http://10.0.0.1:8443/token", remote, policy)
    }))
})

describe("UrlPolicy.resolving", () => {
  verifies("PAIN-71", "refuses names that resolve into a private network", () =>
    Effect.gen(function*() {
      const addresses: Record<string, ReadonlyArray<string>> = {
        "public.example": ["8.8.8.8", "2606:4700:4700::1111"],
        "inside.example": ["8.8.8.8", "10.0.0.1"],
        "metadata.example": ["::ffff:169.254.169.254"],
        "here.example": ["127.0.0.1"],
        "mcp.example": ["10.0.0.1"]
      }
      const policy = UrlPolicy.resolving(UrlPolicy.strict, (name) => {
        const found = addresses[name]
        return found === undefined ? Effect.fail("unknown") : Effect.succeed(found)
      })
      yield* allowed("https://public.example/", remote, policy)
      yield* allowed("https://unknown.example/", remote, policy)
      // Every request goes to that host already.
      yield* allowed("https://mcp.example/token", remote, policy)
      yield* refused("https://inside.example/", remote, policy)
      yield* refused("https://metadata.example/", remote, policy)
      yield* refused("https://here.example/", remote, policy)
      yield* allowed("https://here.example/", local, policy)
      yield* refused("http://public.example/", remote, policy)
    }))
})
