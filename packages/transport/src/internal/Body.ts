/**
 * The body of a response, inflated where it is compressed and never larger in memory than allowed.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Headers from "effect/http/Headers"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

/** The body, or an event in it, is over a limit. In bytes; `size` as far as it is known. */
export class BodyTooLarge
  extends Data.TaggedError("BodyTooLarge")<{ readonly limit: number; readonly size?: number | undefined }>
{}

/** The body is not the gzip that it says it is. */
export class BodyCorrupt extends Data.TaggedError("BodyCorrupt")<{ readonly cause: unknown }> {}

export const corrupt = "its body is not the gzip that it says it is"

const hasCode = (cause: unknown, code: string): boolean => Predicate.hasProperty(cause, "code") && cause.code === code

/** What came is gzip as far as it goes. Only some platforms tell. */
export const isCutShort = (cause: unknown): boolean => hasCode(cause, "Z_BUF_ERROR")

/** What came is not gzip. */
export const isCorrupt = (cause: unknown): boolean => hasCode(cause, "Z_DATA_ERROR")

type Bytes<E> = Stream.Stream<Uint8Array, E>

// What is read at one go; a longer body is read in pieces, so that each of them counts as a sign of life.
const onePieceBytes = 64 * 1024

// What is worth reading of an answer that nobody waits for, so that its connection can be used again.
export const drainBytes = 64 * 1024

const hintMillis = 1_000

const isCompressed = (headers: Headers.Headers): boolean => /\bgzip\b/i.test(headers["content-encoding"] ?? "")

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0]
  const whole = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0))
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}

const inflate = <E>(stream: Bytes<E>): Bytes<E | BodyCorrupt> =>
  Stream.suspend(() => {
    let failure: { readonly error: E } | undefined
    const source = stream.pipe(
      Stream.tapError((error) =>
        Effect.sync(() => {
          failure = { error }
        })
      ),
      // The platform's type leaves shared memory out, so the pieces get memory of their own.
      Stream.map((chunk) => new Uint8Array(chunk))
    )
    return Stream.fromReadableStream<Uint8Array, E | BodyCorrupt>({
      evaluate: () => Stream.toReadableStream(source).pipeThrough(new DecompressionStream("gzip")),
      onError: (cause) => failure === undefined ? new BodyCorrupt({ cause }) : failure.error
    })
  })

// `fetch` inflates by itself and leaves the header, other clients do not inflate: the bytes tell. Neither JSON nor an
// event stream can begin like gzip (RFC 1952 section 2.3.1).
const inflateIfNeeded = <E>(stream: Bytes<E>): Bytes<E | BodyCorrupt> =>
  Stream.unwrap(Effect.gen(function*() {
    const pull = yield* Stream.toPull(stream)
    const head: Array<Uint8Array> = []
    const isOver = yield* Effect.gen(function*() {
      while (head.reduce((size, chunk) => size + chunk.byteLength, 0) < 2) head.push(...(yield* pull))
      return false
    }).pipe(Pull.catchDone(() => Effect.succeed(true)))
    const [first, second] = concat(head)
    const rest = isOver ? Stream.empty : Stream.fromPull(Effect.succeed(pull))
    const whole = Stream.concat(Stream.fromIterable(head), rest)
    return first === 0x1f && second === 0x8b ? inflate(whole) : whole
  }))

/** The bytes of a body, inflated. */
export const stream = (
  response: HttpClientResponse,
  headers: Headers.Headers
): Bytes<HttpClientError | BodyCorrupt> => isCompressed(headers) ? inflateIfNeeded(response.stream) : response.stream

const decoder = new TextDecoder()

/** The whole body as text. `onChunk` is called for every piece that arrives. */
export const text = (
  response: HttpClientResponse,
  headers: Headers.Headers,
  options: { readonly maxBytes: number; readonly onChunk: () => void }
): Effect.Effect<string, HttpClientError | BodyTooLarge | BodyCorrupt> => {
  const compressed = isCompressed(headers)
  const length = Number(headers["content-length"])
  const tooLarge = (size: number) => Effect.fail(new BodyTooLarge({ limit: options.maxBytes, size }))
  if (!compressed && length > options.maxBytes) return Effect.andThen(discard(response), tooLarge(length))
  if (!compressed && length <= onePieceBytes) {
    return Effect.map(response.arrayBuffer, (bytes) => decoder.decode(bytes))
  }
  return Effect.suspend(() => {
    const pieces: Array<Uint8Array> = []
    let size = 0
    return Effect.map(
      Stream.runForEachArray(stream(response, headers), (chunks) => {
        for (const chunk of chunks) {
          size += chunk.byteLength
          pieces.push(chunk)
        }
        options.onChunk()
        return size > options.maxBytes ? tooLarge(size) : Effect.void
      }),
      () => decoder.decode(concat(pieces))
    )
  })
}

/** What can be read of a body that says more about a refusal; nothing if it does not come, is too large or corrupt. */
export const hint = (
  response: HttpClientResponse,
  headers: Headers.Headers,
  options: { readonly maxBytes: number; readonly onChunk: () => void } = { maxBytes: drainBytes, onChunk: () => {} }
): Effect.Effect<string> =>
  text(response, headers, options).pipe(
    Effect.timeoutOption(hintMillis),
    Effect.map(Option.getOrElse(() => "")),
    Effect.orElseSucceed(() => "")
  )

/** Gives a body up that nobody has begun to read: the client closes its connection. */
export const discard = (response: HttpClientResponse): Effect.Effect<void> =>
  Effect.ignore(Effect.scoped(Stream.toPull(response.stream)))

/** Reads on to the end of a body that nobody waits for, but not far. */
export const drain = (response: HttpClientResponse): Effect.Effect<void> =>
  Effect.suspend(() => {
    let size = 0
    return Effect.ignore(Stream.runForEachArray(response.stream, (chunks) => {
      for (const chunk of chunks) size += chunk.byteLength
      return size > drainBytes ? Effect.fail(new BodyTooLarge({ limit: drainBytes, size })) : Effect.void
    }))
  })
