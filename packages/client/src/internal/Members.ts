/**
 * The members of a client as applications have it, by what it consists of.
 */
import { Decode, Logging, McpError, type Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { McpClient, Negotiated } from "../McpClient.ts"
import type { Client } from "./Client.ts"
import * as LazyRecord from "./LazyRecord.ts"
import * as RequestText from "./RequestText.ts"
import * as Resumption from "./Resumption.ts"
import type { Session } from "./Session.ts"

/** Notifications that servers of later revisions are not sent, by whichever application still does. */
const isRemoved = (method: string, revision: Revision.Facts): boolean =>
  (method === "notifications/initialized" && !revision.handshake)
  || (method === "notifications/roots/list_changed" && !revision.rootsListChanged)

const negotiated = (session: Session): Negotiated => ({
  revision: session.revision,
  era: session.revision.era,
  generation: session.generation,
  capabilities: session.agreement.capabilities,
  serverInfo: session.serverInfo,
  instructions: session.agreement.instructions,
  supportedVersions: session.agreement.supportedVersions
})

export const of: (client: Client) => McpClient = LazyRecord.make<Client, McpClient>({
  listTools: (client) => (request) => client.tools.listTools(request),
  toolPages: (client) => (request) => client.tools.toolPages(request),
  callTool: (client) => (name, args, request) => client.tools.callTool(name, args, request),
  call: (client) => (tool, args, request) => client.tools.call(tool, args, request),
  callToolStream: (client) => (name, args, request) => client.tools.callToolStream(name, args, request),
  callTools: (client) => (batch, request) => client.tools.callTools(batch, request),
  startTool: (client) => (name, args, request) => client.tools.startTool(name, args, request),
  task: (client) => (serialized) => client.tasks.restore(serialized),
  listTasks: (client) => (request) => client.tasks.list(request),
  listPrompts: (client) => (request) => client.prompts.listPrompts(request),
  promptPages: (client) => (request) => client.prompts.promptPages(request),
  getPrompt: (client) => (name, args, request) => client.prompts.getPrompt(name, args, request),
  listResources: (client) => (request) => client.resources.listResources(request),
  resourcePages: (client) => (request) => client.resources.resourcePages(request),
  listResourceTemplates: (client) => (request) => client.resources.listResourceTemplates(request),
  resourceTemplatePages: (client) => (request) => client.resources.resourceTemplatePages(request),
  readResource: (client) => (uri, request) => client.resources.readResource(uri, request),
  complete: (client) => (params, request) => client.completions.complete(params, request),
  ping: (client) => (request) =>
    client.calls.run({
      method: "ping",
      methodFor: (revision) => revision.ping ? "ping" : "server/discover",
      params: {},
      decode: () => Exit.void
    }, request),
  setLogLevel: (client) => (level, request) =>
    Logging.isLoggingLevel(level)
      ? client.setLogLevel(level, request)
      : Effect.fail(McpError.make(
        new McpError.InvalidRequest({ problem: `a log level is one of ${Logging.levels.join(", ")}` }),
        "unsent",
        { server: client.server, method: "logging/setLevel" }
      )),
  resume: (client) => (required, request) =>
    Resumption.resume(client.calls, client.tools, client.server, required, request),
  request: (client) => (method, params, schema, request) => {
    const decode = Schema.decodeUnknownExit(schema)
    return client.calls.run({
      method,
      params: params ?? {},
      decode: (result) =>
        Exit.mapError(decode(result), (error) => Decode.malformed(Decode.fromSchemaIssue(error.issue)))
    }, request)
  },
  notify: (client) => (method, params) =>
    Effect.flatMap(client.link.current, ({ agreement: { terms }, requests }) => {
      if (isRemoved(method, terms.revision)) {
        return Effect.logDebug(`${method} was not sent: revision ${terms.revision.version} does not have it`)
      }
      const split = RequestText.splitMetadata(params ?? {})
      const meta = { ...RequestText.mergeMetadata(split.metadata), ...terms.metadata }
      return requests.notify(
        method,
        Object.keys(meta).length === 0 ? params : { ...split.params, _meta: meta },
        terms.revision
      )
    }),
  cancel: (client) => (requestId, reason) => Effect.sync(() => client.calls.cancel(requestId, reason)),
  listen: (client) => (filter, request) => client.subscriptions.listen(filter, request),
  watchTools: (client) => client.watch("tools/list", client.tools.list, { toolsListChanged: true }),
  watchPrompts: (client) => client.watch("prompts/list", client.prompts.list, { promptsListChanged: true }),
  watchResources: (client) =>
    client.watch("resources/list", client.resources.resources, { resourcesListChanged: true }),
  watchResource: (client) => client.watchResources(),
  cacheInfo: (client) => (kept) =>
    typeof kept === "string" ? client.cacheInfo(kept) : client.resources.readInfo(kept.uri),
  clearCache: ({ caching }) => Effect.sync(() => caching.clear()),
  server: ({ link }) => Effect.map(link.current, negotiated),
  state: ({ link }) => SubscriptionRef.changes(link.state),
  notifications: (client) => Stream.unwrap(client.listening(client.notifications)),
  subscribeNotifications: (client) => client.listening(client.notifications),
  logs: (client) => Stream.unwrap(client.listening(client.logs)),
  diagnostics: ({ diagnostics }) => diagnostics.stream
})
