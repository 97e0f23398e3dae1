/**
 * How long to leave a server alone that could not be heard.
 */

const firstDelayMillis = 1_000

/** What has lasted for so long begins anew with the first delay. */
export const longestDelayMillis = 30_000

/** The wait after that many further failures in a row: a second, doubling to half a minute. */
export const delayMillis = (failures: number): number => Math.min(firstDelayMillis * 2 ** failures, longestDelayMillis)
