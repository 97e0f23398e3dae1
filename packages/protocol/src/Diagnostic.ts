/**
 * What was tolerated: a fault of the peer that the client worked around instead of failing.
 *
 * @since 0.1.0
 */

/**
 * One thing that was tolerated. Excerpts are escaped and at most 200 characters.
 *
 * - `StdoutNoise`: a line on the server's stdout that is not a JSON-RPC message.
 * - `UnexpectedMessage`: a message that nobody waits for or that the revision forbids.
 * - `MessageTooLarge`: a message over the limit whose request could not be told.
 * - `InvalidItem`: an item of a list that was set aside.
 * - `ListCutShort`: a list that did not end and was given as far as it came.
 * - `StaleListServed`: a list that could not be fetched anew and was given as it was last kept.
 * - `SchemaUnusable`: a schema of a tool that cannot be used for checking.
 * - `SchemaPartial`: a schema of a tool with keywords that are not evaluated.
 * - `MessagesDropped`: messages that a slow reader of a stream lost so far; of a subscription, that it began to.
 * - `CallbackFailed`: a callback of the application failed; the call went on without it.
 *
 * @category models
 * @since 0.1.0
 */
export type Diagnostic =
  | { readonly _tag: "StdoutNoise"; readonly excerpt: string; readonly lines: number }
  | { readonly _tag: "UnexpectedMessage"; readonly description: string }
  | { readonly _tag: "MessageTooLarge"; readonly limit: number; readonly size: number }
  | {
    readonly _tag: "InvalidItem"
    readonly method: string
    readonly name: string | undefined
    readonly path: string
    readonly problem: string
  }
  | {
    readonly _tag: "ListCutShort"
    readonly method: string
    readonly cause: "repeated-cursor" | "page-limit" | "item-limit"
    readonly pages: number
    readonly items: number
  }
  | { readonly _tag: "StaleListServed"; readonly method: string; readonly ageMillis: number; readonly cause: string }
  | { readonly _tag: "SchemaUnusable"; readonly tool: string; readonly problem: string }
  | { readonly _tag: "SchemaPartial"; readonly tool: string; readonly keywords: ReadonlyArray<string> }
  | {
    readonly _tag: "MessagesDropped"
    readonly stream: "notifications" | "logs" | "subscription"
    readonly dropped: number
  }
  | { readonly _tag: "CallbackFailed"; readonly callback: string; readonly method: string }

/**
 * Describes a diagnostic in one line, for a log.
 *
 * @category encoding
 * @since 0.1.0
 */
export const describe = (diagnostic: Diagnostic): string => {
  switch (diagnostic._tag) {
    case "StdoutNoise":
      return `${diagnostic.lines} line(s) on the server's standard output are not MCP messages and were skipped`
    case "UnexpectedMessage":
      return diagnostic.description
    case "MessageTooLarge":
      return `A message of ${diagnostic.size} bytes is over the limit of ${diagnostic.limit} and was skipped; `
        + "raise the limit (maxMessageBytes) if the server is trusted"
    case "InvalidItem":
      return `An item of ${diagnostic.method}${diagnostic.name === undefined ? "" : ` (${diagnostic.name})`} `
        + `was set aside: ${diagnostic.path}: ${diagnostic.problem}`
    case "ListCutShort":
      return `${diagnostic.method} did not end (${diagnostic.cause}) and was cut short after ${diagnostic.pages} `
        + `pages and ${diagnostic.items} items`
    case "StaleListServed":
      return `${diagnostic.method} failed (${diagnostic.cause}); the list is given as it was `
        + `${diagnostic.ageMillis} ms ago`
    case "SchemaUnusable":
      return `A schema of tool ${diagnostic.tool} cannot be used for checking: ${diagnostic.problem}`
    case "SchemaPartial":
      return `Validation of the output of tool ${diagnostic.tool} is partial: `
        + `${diagnostic.keywords.join(" and ")} in its schema ${
          diagnostic.keywords.length === 1 ? "is" : "are"
        } not evaluated`
    case "MessagesDropped":
      return diagnostic.stream === "subscription"
        ? "A reader of a subscription is too slow and begins to lose repeats of what waits for it"
        : `A reader of ${diagnostic.stream} is too slow and has lost ${diagnostic.dropped} of them so far`
    case "CallbackFailed":
      return `The ${diagnostic.callback} callback of a ${diagnostic.method} call failed; the call went on without it`
  }
}
