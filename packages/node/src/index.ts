/**
 * MCP on Node: everything wired.
 *
 * @since 0.1.0
 */
export * as BrowserAuthorize from "./BrowserAuthorize.ts"
export * as Connect from "./Connect.ts"
export * as NodeHttp from "./NodeHttp.ts"
export * as NodeOAuth from "./NodeOAuth.ts"
