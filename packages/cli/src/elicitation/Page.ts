/**
 * A page that a server wants visited, seen with suspicion.
 */
import { isIP } from "node:net"
import { domainToUnicode } from "node:url"

export interface Page {
  /** The whole URL as a browser would go to it: in ASCII, and not just as the server wrote it. */
  readonly url: string
  readonly domain: string
  /** What is odd about it. */
  readonly warnings: ReadonlyArray<string>
}

const isLocal = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || (isIP(host) === 4 && host.startsWith("127."))
  || host === "::1"

/** Looks at a URL, which is not fetched (2026-07-28 client/elicitation, URL mode). */
export const inspect = (url: string): Page => {
  const { hostname, href, password, protocol, username } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, "")
  const warnings: Array<string> = []
  if (/(?:^|\.)xn--/.test(host)) {
    warnings.push(
      `the domain is written with characters that may look like others: it reads "${domainToUnicode(host)}" (Punycode)`
    )
  }
  if (username !== "" || password !== "") {
    warnings.push("what stands before the @ is not the domain, and may be there to mislead")
  }
  if (isLocal(host)) warnings.push("the page is on this computer")
  else if (isIP(host) !== 0) warnings.push("the domain is a bare IP address, which does not tell whose it is")
  if (protocol === "http:" && !isLocal(host)) {
    warnings.push("the connection is not encrypted (http), so that others can read and change what is sent")
  }
  return { url: href, domain: host, warnings }
}
