/**
 * Reading a text by code points, in both directions, as a regular expression with the `u` flag does. Positions count
 * UTF-16 units; a lone surrogate is a character of its own.
 */
import type { Edge } from "./PatternSyntax.ts"

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** The code point that ends before this position, which is not the start. */
export const codePointBefore = (text: string, position: number): number => {
  const unit = text.charCodeAt(position - 1)
  return isLowSurrogate(unit) && position > 1 && isHighSurrogate(text.charCodeAt(position - 2))
    ? text.codePointAt(position - 2) ?? unit
    : unit
}

/** The code point that starts at this position, which is not the end. */
export const codePointAfter = (text: string, position: number): number => text.codePointAt(position) ?? 0

/** How many units a code point takes. */
export const widthOf = (codePoint: number): number => codePoint > 0xffff ? 2 : 1

// What `\w` matches.
const isWordUnit = (unit: number): boolean =>
  (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 48 && unit <= 57) || unit === 95

/** Whether the text has such an edge here. Outside the text `charCodeAt` is NaN, which is no part of a word. */
export const hasEdge = (text: string, position: number, edge: Edge): boolean => {
  switch (edge) {
    case "start":
      return position === 0
    case "end":
      return position === text.length
    case "word":
      return isWordUnit(text.charCodeAt(position - 1)) !== isWordUnit(text.charCodeAt(position))
    case "not-word":
      return isWordUnit(text.charCodeAt(position - 1)) === isWordUnit(text.charCodeAt(position))
  }
}
