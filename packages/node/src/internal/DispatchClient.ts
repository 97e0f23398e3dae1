/**
 * Effect's `HttpClient` over undici's `dispatch`, without the streams, signals and async hooks of undici's own layers,
 * which cost as much as the protocol.
 */
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Url from "effect/http/Url"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { DispatchResponse } from "./DispatchResponse.ts"

type Response = Effect.Effect<HttpClientResponse, HttpClientError.HttpClientError>

/** Where a request goes: the parts of its URL that undici asks for. */
interface Destination {
  readonly url: string
  readonly origin: string
  readonly path: string
}

const destination = (url: URL): Destination => {
  const bare = new URL(url)
  bare.hash = ""
  bare.username = ""
  bare.password = ""
  return { url: bare.href, origin: bare.origin, path: bare.pathname + bare.search }
}

/** Tells whoever reads it that nothing of the request was written. */
class Unsent extends Error {
  override readonly name = "Unsent"
  readonly delivery = "unsent"
  readonly code: string | undefined

  constructor(cause: Error & { readonly code?: string | undefined }) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/** One request on its way: what undici tells of it until the response begins, and then of its body. */
class DispatchExchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private response: DispatchResponse | undefined
  private interrupted: Error | undefined
  private readonly request: HttpClientRequest
  private readonly url: string
  private readonly resume: (response: Response) => void

  constructor(request: HttpClientRequest, url: string, resume: (response: Response) => void) {
    this.request = request
    this.url = url
    this.resume = resume
  }

  /** Before the connection stands, undici knows no way to give a request up: then it goes as soon as it stands. */
  interrupt(): void {
    this.interrupted = new Error("The request was interrupted")
    this.controller?.abort(this.interrupted)
  }

  fail(cause: unknown): void {
    this.resume(Effect.fail(
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({ request: this.request, cause })
      })
    ))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.interrupted !== undefined) controller.abort(this.interrupted)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2]
  ): void {
    if (status < 200) return
    this.response = new DispatchResponse(this.request, this.url, status, headers, controller)
    this.resume(Effect.succeed(this.response))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.response?.body.push(chunk)
  }

  onResponseEnd(): void {
    this.response?.body.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.response !== undefined) this.response.body.fail(error)
    // The connection broke while it was made, such as in the middle of its TLS handshake.
    else if (this.controller === undefined) this.fail(new Unsent(error))
    else this.fail(error)
  }
}

type DispatchedBody = NonNullable<Dispatcher.DispatchOptions["body"]> | null

interface Encoded {
  readonly body: DispatchedBody
  readonly contentType?: string | undefined
}

const encodeBody = (body: HttpBody.HttpBody): Encoded | Promise<Encoded> => {
  switch (body._tag) {
    case "Empty":
      return { body: null }
    case "Uint8Array":
      return { body: body.text ?? body.body }
    case "Raw":
      return { body: body.body as DispatchedBody }
    case "Stream":
      return { body: Readable.from(Stream.toAsyncIterable(body.stream), { objectMode: false }) }
    case "FormData": {
      // undici takes only a FormData of its own making.
      const encoded = new Response(body.formData)
      return encoded.arrayBuffer().then((bytes) => ({
        body: new Uint8Array(bytes),
        contentType: encoded.headers.get("content-type") ?? undefined
      }))
    }
  }
}

const dispatch = (
  dispatcher: Dispatcher,
  request: HttpClientRequest,
  to: Destination,
  { body, contentType }: Encoded
): Response =>
  Effect.callback((resume) => {
    const exchange = new DispatchExchange(request, to.url, resume)
    try {
      dispatcher.dispatch(
        {
          origin: to.origin,
          path: to.path,
          method: request.method,
          headers: contentType === undefined ? request.headers : { ...request.headers, "content-type": contentType },
          body,
          // How long silence may last is the caller's to say.
          headersTimeout: 0,
          bodyTimeout: 0
        },
        exchange
      )
    } catch (cause) {
      exchange.fail(cause)
    }
    return Effect.sync(() => exchange.interrupt())
  })

/**
 * Sends every request through `dispatcher`. Redirects are not followed, nothing is decoded, no span is opened and no
 * trace header is sent; an interruption closes the socket.
 */
export const make = (dispatcher: Dispatcher): HttpClient.HttpClient => {
  // Almost every request of a client goes to the same URL.
  let last: { readonly input: string; readonly to: Destination } | undefined

  const resolve = (request: HttpClientRequest): Destination | HttpClientError.HttpClientError => {
    const plain = request.urlParams.params.length === 0
    if (plain && last?.input === request.url) return last.to
    const parsed = Url.make(request.url, request.urlParams, Option.getOrUndefined(request.hash))
    if (Result.isFailure(parsed)) {
      return new HttpClientError.HttpClientError({
        reason: new HttpClientError.InvalidUrlError({ request, cause: parsed.failure })
      })
    }
    const to = destination(parsed.success)
    if (plain) last = { input: request.url, to }
    return to
  }

  const send = (request: HttpClientRequest): Response => {
    const to = resolve(request)
    if (HttpClientError.isHttpClientError(to)) return Effect.fail(to)
    const encoded = encodeBody(request.body)
    return encoded instanceof Promise
      ? Effect.flatMap(Effect.promise(() => encoded), (encoded) => dispatch(dispatcher, request, to, encoded))
      : dispatch(dispatcher, request, to, encoded)
  }

  return HttpClient.makeWith(
    (request: Effect.Effect<HttpClientRequest, HttpClientError.HttpClientError>) => Effect.flatMap(request, send),
    Effect.succeed
  )
}
