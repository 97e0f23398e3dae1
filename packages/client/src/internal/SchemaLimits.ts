/**
 * How large a schema may be, and how much a check may do, as implementations are told to bound it (2026-07-28
 * basic/index, JSON Schema usage).
 */

/** How deep schemas may stand within schemas. */
export const schemaDepth = 64

/** How many schemas a document may hold, itself included. */
export const subschemas = 2_000

/** How many there may be when those that references lead to are counted for themselves. */
export const normalSchemas = 4_000

/** How many members and items a document may have in all. */
export const elements = 8_000

/** How deep objects and arrays may nest, in a value and in what a schema holds besides schemas. */
export const valueDepth = 256

/** How many references may follow one another at the same place of the value. */
export const referenceChain = 32

/** How often a schema of the document may be applied in one check. */
export const visits = 100_000

/** How many problems of one value are told. */
export const problems = 100

/** How long one check may take, in milliseconds. */
export const millis = 1_000

/** How long the regular expressions of a document may be in all, in UTF-16 units: reading them is not timed. */
export const patternCharacters = 50_000

/** How many instructions the regular expressions of a document may have, counted repetitions written out. */
export const patternInstructions = 50_000
