import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as Environment from "../src/internal/Environment.ts"

const linux = (variables: Record<string, string | undefined>) => ({ variables, platform: "linux" })
const windows = (variables: Record<string, string | undefined>) => ({ variables, platform: "win32" })

describe("Environment", () => {
  verifiesPure("PAIN-46", "the safe list is what programs need, and no more", () => {
    assert.deepStrictEqual(Environment.safeVariables, [
      "HOME",
      "PATH",
      "SHELL",
      "TERM",
      "USER",
      "LOGNAME",
      "LANG",
      "TMPDIR",
      "TMP",
      "TEMP",
      "HTTP_PROXY",
      "HTTPS_PROXY",
      "NO_PROXY",
      "http_proxy",
      "https_proxy",
      "no_proxy",
      "NODE_EXTRA_CA_CERTS",
      "SSL_CERT_FILE",
      "SSL_CERT_DIR",
      "APPDATA",
      "LOCALAPPDATA",
      "PROGRAMDATA",
      "PROGRAMFILES",
      "SYSTEMROOT",
      "SYSTEMDRIVE",
      "USERPROFILE",
      "PATHEXT",
      "COMSPEC",
      "WINDIR",
      "HOMEDRIVE",
      "HOMEPATH",
      "USERNAME",
      "PROCESSOR_ARCHITECTURE"
    ])
  })

  verifiesPure("PAIN-46", "each policy, with variables set and taken out", () => {
    const host = linux({ PATH: "/bin", LC_ALL: "C", XDG_RUNTIME_DIR: "/run", path: "no", AWS_SECRET_ACCESS_KEY: "s" })
    const safe = { PATH: "/bin", LC_ALL: "C", XDG_RUNTIME_DIR: "/run" }
    assert.deepStrictEqual(Environment.resolve(host, "safe", {}), safe)
    assert.deepStrictEqual(Environment.resolve(host, "safe", { PATH: undefined, A: "1" }), {
      LC_ALL: "C",
      XDG_RUNTIME_DIR: "/run",
      A: "1"
    })
    assert.deepStrictEqual(Environment.resolve(host, "all", { path: undefined }), {
      ...safe,
      AWS_SECRET_ACCESS_KEY: "s"
    })
    assert.deepStrictEqual(Environment.resolve(host, "none", { A: "1" }), { A: "1" })
    assert.deepStrictEqual(Environment.resolve(host, ["path", "LC_ALL", "ABSENT"], { LC_ALL: "en" }), {
      path: "no",
      LC_ALL: "en"
    })
  })

  it("case does not matter on Windows, and the name stays as the host has it", () => {
    const host = windows({ Path: "C:\\Windows", SystemRoot: "C:\\Windows", Secret: "s" })
    assert.deepStrictEqual(Environment.resolve(host, "safe", {}), { Path: "C:\\Windows", SystemRoot: "C:\\Windows" })
    assert.deepStrictEqual(Environment.resolve(host, ["secret"], { PATH: "D:\\" }), { Secret: "s", PATH: "D:\\" })
    assert.deepStrictEqual(Environment.resolve(host, "safe", { PATH: "D:\\", SYSTEMROOT: undefined }), { PATH: "D:\\" })
  })

  verifiesPure("PAIN-47", "a command without a path is searched for in PATH, one with a path nowhere", () => {
    assert.deepStrictEqual(Environment.searchPath("npx", { PATH: "/usr/bin::/bin" }, "linux"), ["/usr/bin", "/bin"])
    assert.deepStrictEqual(Environment.searchPath("./npx", { PATH: "/bin" }, "linux"), [])
    assert.deepStrictEqual(Environment.searchPath("npx", {}, "linux"), [])
    assert.deepStrictEqual(Environment.searchPath("npx", { Path: "C:\\a;D:\\b c" }, "win32"), ["C:\\a", "D:\\b c"])
    assert.deepStrictEqual(Environment.searchPath(".\\npx", { Path: "C:\\a" }, "win32"), [])
    assert.deepStrictEqual(Environment.searchPath("C:npx", { Path: "C:\\a" }, "win32"), [])
    assert.deepStrictEqual(Environment.searchPath("a\\b", { PATH: "/bin" }, "linux"), ["/bin"])
  })
})
