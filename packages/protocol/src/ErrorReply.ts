/**
 * JSON-RPC errors, and what they mean in MCP (2026-07-28 basic/index, Error codes).
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Decode from "./Decode.ts"
import { ElicitRequestURLParams } from "./Elicitation.ts"
import type { ErrorObject } from "./Envelope.ts"
import * as ErrorCode from "./ErrorCode.ts"
import * as Wire from "./internal/Wire.ts"
import type { McpErrorReason } from "./McpError.ts"
import {
  HeaderMismatch,
  MissingClientCapability,
  ResourceNotFound,
  ServerError,
  UnsupportedProtocolVersion
} from "./McpErrorReason.ts"
import { excerpt } from "./PeerText.ts"
import type * as Revision from "./Revision.ts"

/**
 * Schema of `MissingRequiredClientCapabilityData`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MissingRequiredClientCapabilityData = Schema.Struct({ requiredCapabilities: Wire.object })

/**
 * What -32021 says: the capabilities that the client would have to declare.
 *
 * @category models
 * @since 0.1.0
 */
export type MissingRequiredClientCapabilityData = typeof MissingRequiredClientCapabilityData.Type

/**
 * Schema of `UnsupportedProtocolVersionData`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UnsupportedProtocolVersionData = Schema.Struct({
  supported: Schema.Array(Schema.String),
  requested: Schema.String
})

/**
 * What -32022 says, and -32602 in answer to `initialize`: the revisions that the server speaks.
 *
 * @category models
 * @since 0.1.0
 */
export type UnsupportedProtocolVersionData = typeof UnsupportedProtocolVersionData.Type

/**
 * Schema of `URLElicitationRequiredData`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const URLElicitationRequiredData = Schema.Struct({ elicitations: Schema.Array(ElicitRequestURLParams) })

/**
 * What -32042 says (2025-11-25): the URLs that the user has to visit first.
 *
 * @category models
 * @since 0.1.0
 */
export type URLElicitationRequiredData = typeof URLElicitationRequiredData.Type

const validateMissingCapability = Decode.validator(MissingRequiredClientCapabilityData)
const validateUnsupportedVersion = Decode.validator(UnsupportedProtocolVersionData)
const validateElicitations = Decode.validator(URLElicitationRequiredData)

/**
 * What an error was given in answer to.
 *
 * @category models
 * @since 0.1.0
 */
export interface ErrorContext {
  /** The revision that the request travelled under. */
  readonly revision: Revision.Facts
  readonly method: string
  /** What `resources/read` asked for. */
  readonly uri?: string | undefined
  readonly httpStatus?: number | undefined
}

/**
 * The reason of the error that a JSON-RPC error becomes.
 *
 * A typed reason is given only to an error that is formed as its code demands: a message that is a string, and `data`
 * with the members of its schema. Any other is a plain `ServerError`, as is a code without a meaning of its own; code
 * and `data` are kept as they came.
 *
 * @category decoding
 * @since 0.1.0
 */
export const reason = (error: ErrorObject, context: ErrorContext): McpErrorReason => {
  const { httpStatus, method, revision, uri } = context
  const { code, data } = error
  const common = { excerpt: excerpt(error.message), data }
  if (error.malformed !== true) {
    switch (code) {
      case ErrorCode.HeaderMismatch:
        return new HeaderMismatch({ ...common, code, httpStatus })
      case ErrorCode.MissingRequiredClientCapability: {
        const exit = validateMissingCapability(data)
        if (Exit.isFailure(exit)) break
        const { requiredCapabilities } = exit.value
        return new MissingClientCapability({ ...common, code, requiredCapabilities, httpStatus })
      }
      case ErrorCode.UnsupportedProtocolVersion: {
        const exit = validateUnsupportedVersion(data)
        if (Exit.isFailure(exit)) break
        return new UnsupportedProtocolVersion({
          ...common,
          code,
          supported: exit.value.supported.map((version) => excerpt(version)),
          requested: excerpt(exit.value.requested),
          httpStatus
        })
      }
    }
    if (method === "resources/read" && uri !== undefined && revision.resourceNotFoundCodes.includes(code)) {
      return new ResourceNotFound({ ...common, uri, code })
    }
  }
  return new ServerError({ ...common, code, httpStatus })
}

/**
 * The URLs that the user has to visit before the request can succeed, when an error of 2025-11-25 says so properly.
 *
 * @category accessors
 * @since 0.1.0
 */
export const requiredElicitations = (error: {
  readonly code: number
  readonly data?: unknown
}): ReadonlyArray<ElicitRequestURLParams> | undefined => {
  if (error.code !== ErrorCode.UrlElicitationRequired) return undefined
  const exit = validateElicitations(error.data)
  return Exit.isSuccess(exit) ? exit.value.elicitations : undefined
}
