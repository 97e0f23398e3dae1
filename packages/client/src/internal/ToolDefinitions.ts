/**
 * What lists have told of a server's tools, for the calls that depend on a definition.
 */
import { HeaderParams, type Json, type ListResult, McpError, type Tool } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { maxItems } from "../Pages.ts"
import * as Read from "./Read.ts"
import type { Session } from "./Session.ts"

/** Whether arguments that a tool's definition names are mirrored into headers (2026-07-28 streamable-http, Headers). */
export const mirrorsArguments = (session: Session): boolean => session.http && session.revision.requestHeaders

/**
 * Reads a page of tools. Where arguments go into headers, a tool whose `x-mcp-header` annotations are invalid is set
 * aside: "Clients using Streamable HTTP MUST reject tool definitions" that violate the rules (server/tools).
 */
export const readPage = (
  result: Json.JsonObject,
  session: Session
): Exit.Exit<ListResult.Page<Tool.Tool>, McpError.McpErrorReason> => {
  const page = Read.tools(result)
  if (!mirrorsArguments(session)) return page
  return Exit.map(page, (page) => {
    const items: Array<Tool.Tool> = []
    const setAside = [...page.setAside]
    for (const [index, tool] of page.items.entries()) {
      const [problem] = HeaderParams.validateSchema(tool.inputSchema)
      if (problem === undefined) items.push(tool)
      else {
        setAside.push({
          _tag: "InvalidItem",
          method: "tools/list",
          index,
          name: tool.name,
          path: `/tools/${index}/inputSchema${problem.path}`,
          problem: problem.problem
        })
      }
    }
    return { ...page, items, setAside }
  })
}

export class ToolDefinitions {
  private tools = new Map<string, Tool.Tool>()
  /** Tools that exist but whose definition is unusable. */
  private unusable = new Set<string>()
  private complete = false
  private readonly annotations = new WeakMap<Tool.Tool, ReadonlyArray<HeaderParams.Annotation>>()

  /** Takes what a page says; the newest definition of a tool counts, and the oldest go where there are too many. */
  learn(page: ListResult.Page<Tool.Tool>): void {
    for (const tool of page.items) {
      this.tools.delete(tool.name)
      this.tools.set(tool.name, tool)
      this.unusable.delete(tool.name)
    }
    for (const { name } of page.setAside) {
      if (name === undefined) continue
      this.tools.delete(name)
      this.unusable.add(name)
    }
    if (this.tools.size + this.unusable.size > maxItems) this.shrink()
  }

  private shrink(): void {
    // It is not known any more that there are no others.
    this.complete = false
    for (const names of [this.unusable, this.tools]) {
      for (const name of names.keys()) {
        if (this.tools.size + this.unusable.size <= maxItems) return
        names.delete(name)
      }
    }
  }

  /** Takes a list that was read from its beginning to its end: what it does not hold does not exist. */
  replace(pages: ReadonlyArray<ListResult.Page<Tool.Tool>>): void {
    this.tools = new Map()
    this.unusable = new Set()
    for (const page of pages) this.learn(page)
    this.complete = true
  }

  /** Forgets everything: the list has changed since. */
  forget(): void {
    this.tools = new Map()
    this.unusable = new Set()
    this.complete = false
  }

  get(name: string): Tool.Tool | undefined {
    return this.tools.get(name)
  }

  /** Whether nothing is known of a tool, not even that it exists or does not. */
  isUnknown(name: string): boolean {
    return !this.complete && !this.tools.has(name) && !this.unusable.has(name)
  }

  /** Whether everything was listed, and the tool was not there. */
  lacks(name: string): boolean {
    return this.complete && !this.tools.has(name) && !this.unusable.has(name)
  }

  /** The arguments of a call that its tool wants mirrored into headers. */
  mirrored(
    tool: Tool.Tool,
    args: Json.JsonObject
  ): Result.Result<Transport.Routing["params"], McpError.McpErrorReason> {
    let annotations = this.annotations.get(tool)
    if (annotations === undefined) {
      annotations = HeaderParams.annotations(tool.inputSchema)
      this.annotations.set(tool, annotations)
    }
    if (annotations.length === 0) return Result.succeed(undefined)
    return Result.mapError(
      HeaderParams.valuesFor(annotations, args),
      ({ path, problem }) => new McpError.InvalidRequest({ path, problem })
    )
  }
}
