/**
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` of the environment, as command line tools read them.
 */

/** Which proxies stand in between; an empty string means none. */
export interface Proxies {
  readonly http: string
  readonly https: string
  /** Hosts that are reached directly. */
  readonly noProxy: string
}

/**
 * Reads the variables in either case. The lower case counts first, even when it is empty: it is the older spelling,
 * and the only one that a web server cannot be tricked into setting from a request header.
 */
export const read = (environment: Readonly<Record<string, string | undefined>>): Proxies => {
  const either = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? ""
  return { http: either("HTTP_PROXY"), https: either("HTTPS_PROXY"), noProxy: either("NO_PROXY") }
}
