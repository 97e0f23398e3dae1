/**
 * Resources and their templates: lists and reads (2026-07-28 server/resources).
 */
import type { Diagnostic } from "@mcp-effect/protocol"
import type { McpClient } from "../McpClient.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"

type Members = Pick<
  McpClient,
  "listResources" | "resourcePages" | "listResourceTemplates" | "resourceTemplatePages" | "readResource"
>

export const make = (calls: Calls, onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void): Members => {
  const resources = Lists.make({ method: "resources/list", read: Read.resources, calls, onDiagnostic })
  const templates = Lists.make({
    method: "resources/templates/list",
    read: Read.resourceTemplates,
    calls,
    onDiagnostic
  })
  return {
    listResources: resources.all,
    resourcePages: resources.pages,
    listResourceTemplates: templates.all,
    resourceTemplatePages: templates.pages,
    readResource: (uri, options) =>
      calls.run({
        method: "resources/read",
        name: uri,
        uri,
        params: { uri },
        decode: Read.readResourceResult
      }, options)
  }
}
