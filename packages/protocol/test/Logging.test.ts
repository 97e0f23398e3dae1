import { assert, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Decode, Logging } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

verifiesPure(["LOG-04", "LOG-08"], "the eight levels are known, in their order, and no other", () => {
  assert.deepStrictEqual<ReadonlyArray<string>>(Logging.levels, levels)
  for (const level of levels) {
    assert.isTrue(Logging.isLoggingLevel(level), level)
    assert.isTrue(Exit.isSuccess(Decode.validator(Logging.SetLevelRequestParams)({ level })), level)
  }
  for (const level of ["trace", "warn", "ERROR", "", "toString", 3, null, undefined]) {
    assert.isFalse(Logging.isLoggingLevel(level), String(level))
    assert.isTrue(Exit.isFailure(Decode.validator(Logging.SetLevelRequestParams)({ level })), String(level))
  }
})

it("takes a log message of any data", () => {
  const validate = Decode.validator(Logging.LoggingMessageNotificationParams)
  for (const data of ["a", 0, false, null, [], {}]) assert.isTrue(Exit.isSuccess(validate({ level: "info", data })))
  assert.isTrue(Exit.isFailure(validate({ level: "info" })))
})
