/**
 * A response of undici's `dispatch` as Effect's `HttpClientResponse`.
 */
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import * as Headers from "effect/http/Headers"
import * as HttpClientError from "effect/http/HttpClientError"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as UrlParams from "effect/http/UrlParams"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import * as Stream from "effect/Stream"
import type { Dispatcher } from "undici"
import { DispatchBody } from "./DispatchBody.ts"

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2]
type Read<A> = Effect.Effect<A, HttpClientError.HttpClientError>

export class DispatchResponse extends Inspectable.Class implements HttpClientResponse.HttpClientResponse, Pipeable {
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: typeof HttpClientResponse.TypeId = HttpClientResponse.TypeId
  readonly remoteAddress: Option.Option<string> = Option.none()
  readonly request: HttpClientRequest
  readonly url: string
  readonly status: number
  readonly headers: Headers.Headers
  readonly body: DispatchBody
  private readonly setCookie: string | Array<string> | undefined

  constructor(
    request: HttpClientRequest,
    url: string,
    status: number,
    headers: IncomingHeaders,
    controller: Dispatcher.DispatchController
  ) {
    super()
    this.request = request
    this.url = url
    this.status = status
    this.headers = Headers.fromInput(headers)
    this.setCookie = headers["set-cookie"]
    this.body = new DispatchBody(controller, (cause) => this.decodeError(cause))
  }

  get cookies(): Cookies.Cookies {
    return this.setCookie === undefined ? Cookies.empty : Cookies.fromSetCookie(this.setCookie)
  }

  /** What has not arrived when its reader's scope ends is given up, and the socket closes. */
  get stream(): Stream.Stream<Uint8Array, HttpClientError.HttpClientError> {
    const body = this.body
    return Stream.fromChannel(
      Channel.fromTransform((_upstream, scope) =>
        Effect.as(Scope.addFinalizer(scope, Effect.sync(() => body.abort())), body.read)
      )
    )
  }

  get arrayBuffer(): Read<ArrayBuffer> {
    return Effect.map(this.body.collect, (bytes) => bytes.buffer)
  }

  get text(): Read<string> {
    return Effect.map(this.body.collect, (bytes) => new TextDecoder().decode(bytes))
  }

  get json(): Read<Schema.Json> {
    return Effect.flatMap(this.text, (text) => this.decode(() => text === "" ? null : JSON.parse(text)))
  }

  get urlParamsBody(): Read<UrlParams.UrlParams> {
    return Effect.flatMap(this.text, (text) => this.decode(() => UrlParams.fromInput(new URLSearchParams(text))))
  }

  get formData(): Read<FormData> {
    return Effect.flatMap(this.arrayBuffer, (body) =>
      Effect.tryPromise({
        try: () => new Response(body, { headers: this.headers }).formData(),
        catch: (cause) => this.decodeError(cause)
      }))
  }

  get upgrade(): Read<Socket.Socket> {
    return Effect.fail(
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.StatusCodeError({
          request: this.request,
          response: this,
          description: "this client does not hand over connections"
        })
      })
    )
  }

  override toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, {
      _id: "HttpClientResponse",
      request: this.request.toJSON(),
      status: this.status
    })
  }

  pipe() {
    return pipeArguments(this, arguments)
  }

  private decode<A>(read: () => A): Read<A> {
    return Effect.try({ try: read, catch: (cause) => this.decodeError(cause) })
  }

  private decodeError(cause: unknown): HttpClientError.HttpClientError {
    return new HttpClientError.HttpClientError({
      reason: new HttpClientError.DecodeError({ request: this.request, response: this, cause })
    })
  }
}
