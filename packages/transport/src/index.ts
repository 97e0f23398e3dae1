/**
 * How MCP messages travel: the transport contract and its implementations.
 *
 * @since 0.1.0
 */
export * as Transport from "./Transport.ts"
