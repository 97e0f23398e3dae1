/**
 * What a server offers, as tables.
 */
import type { Prompt, Resource, Tool } from "@mcp-effect/protocol"
import * as InputSchema from "../InputSchema.ts"
import * as Table from "../Table.ts"
import * as TerminalText from "../TerminalText.ts"

const column = <A>(title: string, items: ReadonlyArray<A>, cell: (item: A) => string | undefined): Table.Column => ({
  title,
  cells: items.map((item) => TerminalText.oneLine(cell(item) ?? ""))
})

// A title repeats the name in most servers; a description says more.
const about = (item: { readonly title?: string | undefined; readonly description?: string | undefined }) =>
  item.description ?? item.title

export const tools = (items: ReadonlyArray<Tool.Tool>, columns: number | undefined): string =>
  Table.render([
    column("TOOL", items, (tool) => tool.name),
    column("ARGUMENTS", items, (tool) => InputSchema.synopsis(tool.inputSchema)),
    column("DESCRIPTION", items, about)
  ], columns)

const promptArguments = (prompt: Prompt.Prompt): string =>
  (prompt.arguments ?? []).map(({ name, required }) => required === true ? `${name}=` : `[${name}=]`).join(" ")

export const prompts = (items: ReadonlyArray<Prompt.Prompt>, columns: number | undefined): string =>
  Table.render([
    column("PROMPT", items, (prompt) => prompt.name),
    column("ARGUMENTS", items, promptArguments),
    column("DESCRIPTION", items, about)
  ], columns)

export const resources = (items: ReadonlyArray<Resource.Resource>, columns: number | undefined): string =>
  Table.render([
    column("URI", items, (resource) => resource.uri),
    column("NAME", items, (resource) => resource.name),
    column("TYPE", items, (resource) => resource.mimeType),
    column("SIZE", items, (resource) => resource.size === undefined ? undefined : TerminalText.bytes(resource.size)),
    column("DESCRIPTION", items, about)
  ], columns)

export const templates = (items: ReadonlyArray<Resource.ResourceTemplate>, columns: number | undefined): string =>
  Table.render([
    column("URI TEMPLATE", items, (template) => template.uriTemplate),
    column("NAME", items, (template) => template.name),
    column("TYPE", items, (template) => template.mimeType),
    column("DESCRIPTION", items, about)
  ], columns)
