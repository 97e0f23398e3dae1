/**
 * How MCP messages travel: the transport contract and its implementations.
 *
 * @since 0.1.0
 */
export * as DetectHttpTransport from "./DetectHttpTransport.ts"
export * as Duplex from "./Duplex.ts"
export * as HttpTransport from "./HttpTransport.ts"
export * as Lines from "./Lines.ts"
export * as MemoryTransport from "./MemoryTransport.ts"
export * as PeerScript from "./PeerScript.ts"
export * as SseTransport from "./SseTransport.ts"
export * as StdioTransport from "./StdioTransport.ts"
export * as StreamableHttpTransport from "./StreamableHttpTransport.ts"
export * as Transport from "./Transport.ts"
export * as TransportContract from "./TransportContract.ts"
