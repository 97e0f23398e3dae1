/**
 * Completion of arguments (2026-07-28 server/utilities/completion).
 */
import type { McpClient } from "../McpClient.ts"
import type { Calls } from "./Calls.ts"
import * as Read from "./Read.ts"

export const make = (calls: Calls): Pick<McpClient, "complete"> => ({
  complete: (request, options) =>
    calls.run({
      method: "completion/complete",
      params: { ...request },
      paramsFor: (params, revision) => {
        if (revision.completionContext) return params
        const { context: _, ...others } = params
        return others
      },
      decode: Read.completion
    }, options)
})
