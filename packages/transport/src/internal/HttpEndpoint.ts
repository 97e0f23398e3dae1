/**
 * Where an HTTP server is, and the headers that its user wants sent, checked once.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Base64 from "effect/encoding/Base64"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

export interface HttpEndpoint {
  /** What requests are sent to: no credentials, no fragment. */
  readonly url: string
  /** The URL without its query, which may hold secrets. */
  readonly target: string
  /** Configured headers by their names in lower case, without those that the protocol owns. */
  readonly headers: Readonly<Record<string, string>>
  /** What the user should know, for the log. */
  readonly warnings: ReadonlyArray<string>
}

type ConfiguredHeaders = Readonly<Record<string, string | Redacted.Redacted>>

// What the protocol and the framing of HTTP say, not the user.
const ownNames: ReadonlySet<string> = new Set([
  "accept",
  "content-length",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding"
])

// RFC 9110 sections 5.1 and 5.5.
export const isFieldName = (name: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)
const isFieldValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

const parse = (url: string | URL): URL | undefined => {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}

/** Names the server in errors and logs, also when its URL is unusable. */
export const targetOf = (url: string | URL): string => {
  const parsed = parse(url)
  return parsed === undefined ? "an invalid URL" : `${parsed.protocol}//${parsed.host}${parsed.pathname}`
}

/** Tells configurations apart by the URL without secrets and by the names of query parameters and headers. */
export const fingerprintOf = (kind: string, url: string | URL, headers: ConfiguredHeaders): string => {
  const query = [...new Set(parse(url)?.searchParams.keys())].sort()
  const names = Object.keys(headers).map((name) => name.toLowerCase()).sort()
  return `${kind} ${targetOf(url)} ?${query.join("&")} ${names.join(",")}`
}

const decodeUserInfo = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Checks a URL and headers. The problem repeats no value of theirs: it may be a secret. */
export const make = (
  url: string | URL,
  configured: ConfiguredHeaders
): Result.Result<HttpEndpoint, McpError.InvalidRequest> => {
  const fail = (problem: string, path: string) => Result.fail(new McpError.InvalidRequest({ problem, path }))
  const parsed = parse(url)
  if (parsed === undefined) return fail("is not a URL; it should look like https://example.com/mcp", "url")
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    return fail(`has the scheme ${parsed.protocol} but must have http: or https:`, "url")
  }
  const headers: Record<string, string> = {}
  const ignored: Array<string> = []
  if (parsed.username !== "" || parsed.password !== "") {
    // RFC 7617. HTTP clients refuse or drop what stands in the URL.
    const credentials = `${decodeUserInfo(parsed.username)}:${decodeUserInfo(parsed.password)}`
    headers["authorization"] = `Basic ${Base64.encode(credentials)}`
  }
  for (const [name, secret] of Object.entries(configured)) {
    const value = Redacted.isRedacted(secret) ? Redacted.value(secret) : secret
    if (!isFieldName(name)) return fail(`${JSON.stringify(name)} is not the name of a header`, "headers")
    if (!isFieldValue(value)) return fail("its value has characters that no header may have", `headers.${name}`)
    const key = name.toLowerCase()
    if (ownNames.has(key)) ignored.push(name)
    else headers[key] = value
  }
  const target = targetOf(parsed)
  parsed.username = ""
  parsed.password = ""
  parsed.hash = ""
  return Result.succeed({
    url: parsed.href,
    target,
    headers,
    warnings: [
      ...(parsed.hostname === "0.0.0.0"
        ? ["The host 0.0.0.0 is an address to listen on; use 127.0.0.1 or the name of the server to reach it"]
        : []),
      ...(ignored.length === 0
        ? []
        : [`These configured headers belong to the protocol and are not sent: ${ignored.join(", ")}`])
    ]
  })
}
