/**
 * The Model Context Protocol client for Effect.
 *
 * @since 0.1.0
 */
export * as ClientOptions from "./ClientOptions.ts"
export * as Deprecations from "./Deprecations.ts"
export * as Form from "./Form.ts"
export * as McpClient from "./McpClient.ts"
export * as McpHandlers from "./McpHandlers.ts"
export * as McpTask from "./McpTask.ts"
export * as McpTool from "./McpTool.ts"
export * as Pages from "./Pages.ts"
export * as ResultCache from "./ResultCache.ts"
export * as SchemaValidator from "./SchemaValidator.ts"
export * as Skills from "./Skills.ts"
export * as Subscription from "./Subscription.ts"
