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

// C0 and C1 controls, line and paragraph separators, bidirectional overrides, zero-width characters, lone surrogates.
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const escapeCharacter = (character: string): string =>
  character === "\n"
    ? "\\n"
    : character === "\r"
    ? "\\r"
    : character === "\t"
    ? "\\t"
    : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * Escapes control characters and everything else that could disguise the text around it.
 *
 * @category encoding
 * @since 0.1.0
 */
export const escape = (text: string): string => text.replace(unsafe, escapeCharacter)

/**
 * Escapes a peer's text and keeps at most `length` characters of it, ending in `…` where something was cut.
 *
 * @category encoding
 * @since 0.1.0
 */
export const excerpt = (text: string, length: number = excerptLength): string => {
  const escaped = escape(text.length > length ? text.slice(0, length) : text)
  return escaped.length > length || text.length > length ? `${escaped.slice(0, length - 1)}…` : escaped
}
