/**
 * Resources and their templates: lists and reads (2026-07-28 server/resources).
 */
import { Caching, type Diagnostic, type Json, type McpError, type Resource } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RequestOptions } from "../ClientOptions.ts"
import type { McpClient } from "../McpClient.ts"
import type * as ResultCache from "../ResultCache.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"
import type { ResultCaching } from "./ResultCaching.ts"
import type { Session } from "./Session.ts"

type Members = Pick<
  McpClient,
  "listResources" | "resourcePages" | "listResourceTemplates" | "resourceTemplatePages" | "readResource"
>

export interface Resources extends Members {
  readonly resources: Lists.Listing<Resource.Resource>
  readonly templates: Lists.Listing<Resource.ResourceTemplate>
  /** Reads a resource as the server has it now, whatever is kept. */
  readonly readAnew: (uri: string) => Effect.Effect<Resource.ReadResourceResult, McpError.McpError>
  /** What is known of the freshness of a resource that is kept. */
  readonly readInfo: (uri: string) => Effect.Effect<ResultCache.CacheInfo | undefined>
}

const method = "resources/read"

export const make = (
  calls: Calls,
  caching: ResultCaching,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
): Resources => {
  const resources = Lists.make({ method: "resources/list", read: Read.resources, calls, caching, onDiagnostic })
  const templates = Lists.make({
    method: "resources/templates/list",
    read: Read.resourceTemplates,
    calls,
    caching,
    onDiagnostic
  })
  const read = (
    uri: string,
    parameters: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<Resource.ReadResourceResult, McpError.McpError> => {
    let flight = caching.begin(parameters)
    return calls.run({
      method,
      name: uri,
      uri,
      params: { uri },
      decode: (result: Json.JsonObject, session: Session, evidence: Transport.Evidence) => {
        const read = Read.readResourceResult(result)
        if (Exit.isSuccess(read)) {
          caching.keep(flight, session, evidence, method, uri, Caching.read(result), () => read.value)
        }
        return read
      },
      // "Clients MUST NOT cache" what took answers or a state to get (2026-07-28 server/utilities/caching).
      onInputRequired: () => {
        flight = undefined
      }
    }, options)
  }

  return {
    resources,
    templates,
    listResources: resources.all,
    resourcePages: resources.pages,
    listResourceTemplates: templates.all,
    resourceTemplatePages: templates.pages,
    readResource: (uri, options) =>
      Effect.withFiber((fiber) => {
        const parameters = calls.parameters(fiber, options)
        if (options?.signal?.aborted !== true) {
          const kept = caching.findFresh(calls.ready(), parameters, method, uri)
          if (kept !== undefined) return Effect.succeed(kept.value as Resource.ReadResourceResult)
        }
        return read(uri, parameters, options)
      }),
    readAnew: (uri) => Effect.withFiber((fiber) => read(uri, calls.parameters(fiber, undefined), undefined)),
    readInfo: (uri) =>
      Effect.withFiber((fiber) => {
        const entry = caching.find(calls.ready(), calls.parameters(fiber, undefined), method, uri)
        return Effect.succeed(entry === undefined ? undefined : caching.info(entry))
      })
  }
}
