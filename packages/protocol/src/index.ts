/**
 * The Model Context Protocol as data: revisions, messages, error codes, header rules. Pure.
 *
 * @since 0.1.0
 */
export * as Activity from "./Activity.ts"
export * as Diagnostic from "./Diagnostic.ts"
export * as Envelope from "./Envelope.ts"
export * as ErrorCode from "./ErrorCode.ts"
export * as Json from "./Json.ts"
export * as McpError from "./McpError.ts"
export * as PeerText from "./PeerText.ts"
export * as Revision from "./Revision.ts"
