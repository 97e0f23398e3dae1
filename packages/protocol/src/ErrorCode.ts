/**
 * JSON-RPC error codes with a meaning in MCP (2026-07-28 basic/index, Error codes).
 *
 * @since 0.1.0
 */

/** @category models @since 0.1.0 */
export const ParseError = -32700
/** @category models @since 0.1.0 */
export const InvalidRequest = -32600
/** @category models @since 0.1.0 */
export const MethodNotFound = -32601
/** @category models @since 0.1.0 */
export const InvalidParams = -32602
/** @category models @since 0.1.0 */
export const InternalError = -32603
/**
 * Resource not found in the legacy revisions; accepted, never sent.
 *
 * @category models
 * @since 0.1.0
 */
export const ResourceNotFound = -32002
/**
 * The headers of a request contradict its body (2026-07-28).
 *
 * @category models
 * @since 0.1.0
 */
export const HeaderMismatch = -32020
/**
 * The request needs a capability that the client did not declare (2026-07-28).
 *
 * @category models
 * @since 0.1.0
 */
export const MissingRequiredClientCapability = -32021
/**
 * The server does not speak the revision of the request (2026-07-28).
 *
 * @category models
 * @since 0.1.0
 */
export const UnsupportedProtocolVersion = -32022
/**
 * The user has to visit URLs first (2025-11-25 only).
 *
 * @category models
 * @since 0.1.0
 */
export const UrlElicitationRequired = -32042
