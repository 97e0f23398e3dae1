/**
 * Whether a tool's answer keeps what its definition promises: "Clients SHOULD validate structured results against" the
 * output schema (2026-07-28 server/tools, Output Schema).
 */
import {
  type Diagnostic,
  Json,
  McpError,
  PeerText,
  type Revision,
  type Tool,
  type ToolCall
} from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SchemaValidator from "../SchemaValidator.ts"
import * as Dialect from "./Dialect.ts"

/** How many tools a client remembers to have told of. */
const maxTold = 1_000

/**
 * What a result gives to programs, as its revision has it: nothing, an object, or any JSON value, `null` included. What
 * a revision does not know is no structured content. Where the revision is not known, any value is.
 */
export const structuredContentOf = (
  result: Pick<ToolCall.CallToolResult, "structuredContent">,
  revision: Pick<Revision.Facts, "structuredContent"> | undefined
): Option.Option<unknown> => {
  const content = Object.hasOwn(result, "structuredContent") ? result.structuredContent : undefined
  if (content === undefined || revision?.structuredContent === "none") return Option.none()
  return revision?.structuredContent === "object" && !Json.isJsonObject(content) ? Option.none() : Option.some(content)
}

/**
 * Why a call of a tool must not be sent, if it must not: its output schema is in a dialect that is not supported, which
 * is to be reported (2026-07-28 basic/index, JSON Schema usage), and could only be reported after the tool has run.
 */
export const dialectProblem = (
  tool: Pick<Tool.Tool, "name" | "outputSchema">
): McpError.SchemaUnsupported | undefined => {
  const dialect = tool.outputSchema === undefined ? undefined : Dialect.unsupported(tool.outputSchema)
  return dialect === undefined
    ? undefined
    : new McpError.SchemaUnsupported({
      tool: tool.name,
      which: "outputSchema",
      dialect,
      supported: Dialect.supported
    })
}

const missing: ReadonlyArray<SchemaValidator.Issue> = [
  { path: "", problem: "is missing: the tool declares an output schema, but gave no structured content" }
]

/** The checks of one client. */
export class OutputValidation {
  /** By tool, what was told of its schema, so that it is told once. */
  private readonly told = new Map<string, string>()
  private readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void

  constructor(onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void) {
    this.onDiagnostic = onDiagnostic
  }

  /**
   * What is wrong with a result, by the definition that its request went out under. A schema that cannot be used is told
   * of as a diagnostic, and finds nothing wrong.
   */
  check(
    tool: Pick<Tool.Tool, "name" | "outputSchema">,
    result: Pick<ToolCall.CallToolResult, "structuredContent" | "isError">,
    revision: Pick<Revision.Facts, "structuredContent"> | undefined
  ): Effect.Effect<ReadonlyArray<SchemaValidator.Issue>> {
    const { outputSchema } = tool
    if (outputSchema === undefined || result.isError === true || revision?.structuredContent === "none") {
      return Effect.succeed([])
    }
    const content = structuredContentOf(result, revision)
    if (Option.isNone(content)) return Effect.succeed(missing)
    return SchemaValidator.SchemaValidator.pipe(
      Effect.flatMap((validator) => validator.compile(outputSchema)),
      Effect.map(({ unevaluated, validate }) => {
        if (unevaluated.length > 0) {
          this.tell({ _tag: "SchemaPartial", tool: PeerText.excerpt(tool.name), keywords: unevaluated })
        }
        return validate(content.value)
      }),
      // The tool has run: even a validator of the host that breaks must not lose its result.
      Effect.catchCause((cause) => {
        if (Cause.hasInterrupts(cause)) return Effect.interrupt
        this.tell({ _tag: "SchemaUnusable", tool: PeerText.excerpt(tool.name), problem: describe(cause) })
        return Effect.succeed([])
      })
    )
  }

  private tell(diagnostic: Diagnostic.Diagnostic & { readonly tool: string }): void {
    const text = JSON.stringify(diagnostic)
    if (this.told.get(diagnostic.tool) === text) return
    if (this.told.size >= maxTold) this.told.clear()
    this.told.set(diagnostic.tool, text)
    this.onDiagnostic(diagnostic)
  }
}

const describe = (cause: Cause.Cause<SchemaValidator.SchemaProblem>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => "outputSchema: the validator failed",
    onSome: ({ path, problem }) => `outputSchema${path}: ${problem}`
  })
