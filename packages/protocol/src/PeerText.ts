/**
 * Text that a peer wrote, made safe to show: it cannot forge log lines, move a terminal's cursor or flood a log.
 *
 * @since 0.1.0
 */

/**
 * How many characters of a peer's text an error keeps.
 *
 * @category models
 * @since 0.1.0
 */
export const excerptLength = 200

// Controls, line and paragraph separators, lone surrogates, and format characters: those that reverse the direction of
// the text around them, that are invisible, or that spell out text nobody sees.
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Cf}]/gu

const escapeCharacter = (character: string): string => {
  switch (character) {
    case "\n":
      return "\\n"
    case "\r":
      return "\\r"
    case "\t":
      return "\\t"
  }
  const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")
  return code.length > 4 ? `\\u{${code}}` : `\\u${code}`
}

/**
 * Escapes control characters and everything else that could disguise the text around it.
 *
 * @category encoding
 * @since 0.1.0
 */
export const escape = (text: string): string => text.replace(unsafe, escapeCharacter)

/**
 * Escapes a peer's text and keeps at most `length` characters of it, ending in `…` where something was cut. Neither an
 * escape nor a surrogate pair is cut in two.
 *
 * @category encoding
 * @since 0.1.0
 */
export const excerpt = (text: string, length: number = excerptLength): string => {
  let whole = ""
  let withRoomForEllipsis = ""
  for (const character of text) {
    whole += escape(character)
    if (whole.length > length) return `${withRoomForEllipsis}…`
    if (whole.length < length) withRoomForEllipsis = whole
  }
  return whole
}
