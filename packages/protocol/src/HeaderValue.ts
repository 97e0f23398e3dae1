/**
 * Text as the value of an HTTP header (2026-07-28 streamable-http, Value Encoding): what is safe as it stands goes as
 * it stands, everything else as `=?base64?…?=`.
 *
 * @since 0.1.0
 */
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"

// Both exactly in lower case; header values are case-sensitive.
const prefix = "=?base64?"
const suffix = "?="

// Visible ASCII, with spaces inside only: the ends of a value are trimmed on the way. RFC 9110 section 5.5 would let a
// TAB pass inside, but it is a control character, and servers check for those.
const safe = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/

// The beginning and the end alone decide: a reader of `=?base64?=` may take it for an encoded value as well.
const looksEncoded = (text: string): boolean => text.startsWith(prefix) && text.endsWith(suffix)

/**
 * Encodes any text as a legal header value, without a way to inject a header. Empty text is an empty value.
 *
 * A lone surrogate has no UTF-8 form and is replaced by U+FFFD; nothing else is changed.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encode = (text: string): string =>
  safe.test(text) && !looksEncoded(text) ? text : `${prefix}${Base64.encode(text)}${suffix}`

/**
 * Decodes the value of a header, as a server does. `undefined` where it claims to be base64 and is not the padded
 * base64 of UTF-8 text.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decode = (value: string): string | undefined => {
  if (!looksEncoded(value) || value.length < prefix.length + suffix.length) return value
  const base64 = value.slice(prefix.length, -suffix.length)
  const text = Result.getOrUndefined(Base64.decodeString(base64))
  if (text === undefined) return undefined
  // Decoding repairs what is not UTF-8 and drops a byte order mark; encoding again tells.
  return [text, `\ufeff${text}`].find((candidate) => Base64.encode(candidate) === base64)
}
