/**
 * What is wrong with the options of a client, which may come from code without types or from a configuration.
 */
import { Logging, Metadata } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Duration from "effect/Duration"
import type { ClientOptions } from "../ClientOptions.ts"

const isNonEmptyString = (value: unknown): boolean => typeof value === "string" && value !== ""

const isInterval = (duration: Duration.Input): boolean => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(duration))
  return millis > 0 && millis < Infinity
}

export const problemWith = <R>(
  kind: Transport.Transport["Service"]["kind"],
  options: ClientOptions<R>
): string | undefined => {
  if (kind === "sse" && options.protocol === "modern") {
    return "HTTP+SSE has no modern revision; leave protocol out, or use another transport"
  }
  const info = options.clientInfo
  if (info !== undefined && !(isNonEmptyString(info.name) && isNonEmptyString(info.version))) {
    return "clientInfo needs a name and a version that are not empty"
  }
  const protocol: string | undefined = options.protocol
  if (protocol !== undefined && protocol !== "auto" && protocol !== "modern" && protocol !== "legacy") {
    return "protocol must be \"auto\", \"modern\" or \"legacy\""
  }
  const output: string | undefined = options.outputValidation
  if (output !== undefined && output !== "report" && output !== "strict") {
    return "outputValidation must be \"report\" or \"strict\""
  }
  const standby: string | undefined = options.standbyStream
  if (standby !== undefined && standby !== "auto" && standby !== "off" && standby !== "required") {
    return "standbyStream must be \"auto\", \"off\" or \"required\""
  }
  const reissue: string | undefined = options.reissue
  if (reissue !== undefined && reissue !== "always" && reissue !== "safe" && reissue !== "never") {
    return "reissue must be \"always\", \"safe\" or \"never\""
  }
  if (options.keepAlive !== undefined && !isInterval(options.keepAlive)) {
    return "keepAlive must be longer than nothing, and end"
  }
  if (options.logLevel !== undefined && !Logging.isLoggingLevel(options.logLevel)) {
    return `logLevel must be one of ${Logging.levels.join(", ")}`
  }
  for (const [id, settings] of Object.entries(options.extensions ?? {})) {
    const problem = Metadata.extensionProblem(id, settings)
    if (problem !== undefined) return problem
  }
  return undefined
}
