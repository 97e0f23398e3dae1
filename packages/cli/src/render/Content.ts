/**
 * What tools, prompts and resources give, as text. Binary content is summed up; JSON output has it whole.
 */
import type { Content, Prompt, Resource, ToolCall } from "@mcp-effect/protocol"
import * as TerminalText from "../TerminalText.ts"

type Show = (text: string) => string

// Three bytes for each four characters, padding aside.
const base64Bytes = (text: string): number => Math.floor(text.replace(/[\s=]/g, "").length * 3 / 4)

const note = (parts: ReadonlyArray<string | undefined>): string =>
  `[${
    parts.filter((part) => part !== undefined && part !== "").map((part) => TerminalText.oneLine(part ?? "")).join(" ")
  }]`

const binary = (kind: string, mimeType: string | undefined, data: string, uri?: string): string =>
  note([kind, uri, mimeType, TerminalText.bytes(base64Bytes(data))])

const contents = (resource: Content.ResourceContents, show: Show): string =>
  "text" in resource ? show(resource.text) : binary("blob", resource.mimeType, resource.blob, resource.uri)

const header = (resource: Content.ResourceContents): string => note(["resource", resource.uri, resource.mimeType])

/** One block. */
export const block = (content: Content.ContentBlock, show: Show): string => {
  switch (content.type) {
    case "text":
      return show(content.text)
    case "image":
    case "audio":
      return binary(content.type, content.mimeType, content.data)
    case "resource_link": {
      const size = content.size === undefined ? undefined : TerminalText.bytes(content.size)
      return note(["resource link", content.uri, content.name, content.mimeType, size])
    }
    case "resource": {
      const { resource } = content
      return "text" in resource ? `${header(resource)}\n${contents(resource, show)}` : contents(resource, show)
    }
    default:
      return note([`content of the unknown type "${content.type}"; --output json shows it`])
  }
}

const isInText = (structured: unknown, blocks: ReadonlyArray<Content.ContentBlock>): boolean => {
  const wanted = JSON.stringify(structured)
  return blocks.some((content) => {
    if (content.type !== "text") return false
    try {
      return JSON.stringify(JSON.parse(content.text)) === wanted
    } catch {
      return false
    }
  })
}

/**
 * The result of a tool: its blocks, and its structured content, unless one of the blocks says the same (2025-11-25
 * server/tools, Structured Content).
 */
export const toolResult = (result: ToolCall.CallToolResult, show: Show): string => {
  const blocks = result.content.map((content) => block(content, show))
  const { structuredContent } = result
  if (structuredContent !== undefined && !isInText(structuredContent, result.content)) {
    blocks.push(show(JSON.stringify(structuredContent, undefined, 2)))
  }
  return blocks.join("\n")
}

/** The messages of a prompt, each under the name of its role. */
export const prompt = (result: Prompt.GetPromptResult, show: Show): string =>
  result.messages.map(({ content, role }) =>
    `${TerminalText.oneLine(role)}:\n${TerminalText.indent(block(content, show), "  ")}`
  )
    .join("\n\n")

/** What a resource holds. Several contents stand each under its URI. */
export const resource = (result: Resource.ReadResourceResult, show: Show): string =>
  result.contents.length === 1
    ? result.contents.map((item) => contents(item, show)).join("")
    : result.contents.map((item) => "text" in item ? `${header(item)}\n${contents(item, show)}` : contents(item, show))
      .join("\n\n")
