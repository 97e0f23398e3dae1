/**
 * Judges what the official conformance suite reports.
 *
 * The suite's own verdict is not enough: a client that does nothing passes some scenarios, and in suite mode its exit
 * code is not looked at. Here a scenario passes by its checks.
 */

/** One check of a scenario, as `checks.json` has it; `INFO` and `SKIPPED` say nothing about the client. */
export interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
  readonly errorMessage?: string | undefined
}

/** Why a scenario does not pass; `undefined` when it does. */
export const fault = (checks: ReadonlyArray<Check> | undefined): string | undefined => {
  if (checks === undefined) return "it was not run"
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING")
  if (bad.length > 0) {
    return bad.map(({ errorMessage, id, status }) => `${id} ${status} ${errorMessage ?? ""}`.trimEnd()).join("; ")
  }
  return checks.some(({ status }) => status === "SUCCESS") ? undefined : "no check succeeded"
}

/** A scenario of the suite, with the revisions that it can be run at. */
export interface Scenario {
  readonly name: string
  readonly revisions: ReadonlyArray<string>
}

/** Reads what `conformance list --client` prints: `  - tools_call [2025-06-18,2025-11-25]`. */
export const parseList = (text: string): ReadonlyArray<Scenario> =>
  [...text.matchAll(/^\s+- (\S+) \[([^\]]*)\]$/gm)].map(([, name = "", window = ""]) => ({
    name,
    revisions: window.split(",").filter((word) => /^\d{4}-\d{2}-\d{2}$/.test(word))
  }))

/** The scenario of an output folder, which is named `<scenario>-<time>`. */
export const scenarioOf = (folder: string): string => folder.replace(/-\d{4}-\d{2}-\d{2}T[\d.:Z-]*$/, "")

/** What came of one run of one scenario. */
export interface Outcome {
  readonly title: string
  /** The title of the issue that is to make it pass; `undefined` where it is due. */
  readonly waitsFor: string | undefined
  readonly fault: string | undefined
}

export const isGood = ({ fault, waitsFor }: Outcome): boolean => (fault === undefined) === (waitsFor === undefined)

/** One line for an outcome. */
export const describe = ({ fault, title, waitsFor }: Outcome): string => {
  if (waitsFor === undefined) return fault === undefined ? `✓ ${title}` : `✗ ${title}: ${fault}`
  return fault === undefined
    ? `✗ ${title}: passes, so it no longer belongs in the baseline (“${waitsFor}”)`
    : `- ${title}: not due before “${waitsFor}”`
}

/** The last line of the report. Scenarios that are not due count for nothing, unless they pass. */
export const summary = (outcomes: ReadonlyArray<Outcome>): string => {
  const failed = outcomes.filter((outcome) => !isGood(outcome)).length
  const passed = outcomes.filter((outcome) => isGood(outcome) && outcome.waitsFor === undefined).length
  return `${passed} passed, ${failed} failed`
}
