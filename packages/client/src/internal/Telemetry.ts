/**
 * Spans and trace context of requests, by the OpenTelemetry conventions for MCP; free of cost with no tracer installed.
 */
import { Json, McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"

/** Whether spans go anywhere: Effect's own tracer only keeps them for the current fiber. */
const isTracing = (fiber: Fiber.Fiber<unknown, unknown>): boolean => {
  const tracer = fiber.cache.tracer
  return tracer !== undefined && tracer !== Tracer.nativeTracer && fiber.cache.tracerEnabled
}

/** Runs one request of an application in a span of kind client. */
export const withSpan = <A>(
  effect: Effect.Effect<A, McpError.McpError>,
  fiber: Fiber.Fiber<unknown, unknown>,
  name: string,
  attributes: () => Record<string, unknown>
): Effect.Effect<A, McpError.McpError> =>
  isTracing(fiber)
    ? Effect.useSpan(name, { kind: "client", attributes: attributes() }, (span) =>
      Effect.onExit(Effect.withParentSpan(effect, span), (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) {
            // The conventions' own word for a tool that ran and tells of its failure.
            if (Json.isJsonObject(exit.value) && exit.value["isError"] === true) {
              span.attribute("error.type", "tool_error")
            }
            return
          }
          const error = Exit.findErrorOption(exit)
          if (error._tag === "None" || !McpError.isMcpError(error.value)) {
            return
          }
          const reason = error.value.reason
          span.attribute("error.type", reason._tag)
          if ("code" in reason && typeof reason.code === "number") {
            span.attribute("rpc.response.status_code", String(reason.code))
          }
        })))
    : effect

/**
 * The W3C trace context of the current span for `_meta` (2026-07-28 basic/index, _meta). Without a tracer only a span
 * that came from outside is passed on.
 */
export const traceContext = (fiber: Fiber.Fiber<unknown, unknown>): Json.JsonObject | undefined => {
  const span = fiber.cache.span
  if (span === undefined || (span._tag === "Span" && !isTracing(fiber))) return undefined
  return { traceparent: `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}` }
}
