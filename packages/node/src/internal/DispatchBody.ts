/**
 * The body of a response as undici's `dispatch` delivers it: kept until somebody reads, and paused when nobody does.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { Dispatcher } from "undici"

// What may wait for a reader before the socket is paused, as much as a Node stream holds.
const highWaterMark = 64 * 1024

type Chunks = Effect.Effect<Arr.NonEmptyReadonlyArray<Uint8Array>, HttpClientError | Cause.Done>
type Whole = Effect.Effect<Uint8Array<ArrayBuffer>, HttpClientError>

export class DispatchBody {
  private chunks: Array<Uint8Array> = []
  private size = 0
  private state: "open" | "ended" | "failed" = "open"
  private failure: Effect.Effect<never, HttpClientError> = Effect.never
  /** The reader wants all of it at once: nothing is gained by pausing. */
  private collecting = false
  private wake: (() => void) | undefined
  private waking = false
  private readonly controller: Dispatcher.DispatchController
  private readonly toError: (cause: Error) => HttpClientError

  constructor(controller: Dispatcher.DispatchController, toError: (cause: Error) => HttpClientError) {
    this.controller = controller
    this.toError = toError
  }

  push(chunk: Uint8Array): void {
    this.chunks.push(chunk)
    this.size += chunk.byteLength
    if (this.collecting) return
    this.wakeSoon()
    if (this.size >= highWaterMark) this.controller.pause()
  }

  end(): void {
    if (this.state !== "open") return
    this.state = "ended"
    this.wakeSoon()
  }

  fail(cause: Error): void {
    if (this.state !== "open") return
    this.state = "failed"
    this.failure = Effect.fail(this.toError(cause))
    this.wakeSoon()
  }

  /** Closes the socket, unless the whole body has arrived. */
  abort(): void {
    if (this.state !== "open") return
    const reason = new Error("The response body was abandoned")
    this.chunks = []
    this.size = 0
    this.fail(reason)
    this.controller.abort(reason)
  }

  /** The chunks that have arrived since the last read; waits for the first of them. */
  get read(): Chunks {
    return Effect.suspend((): Chunks => {
      if (this.size > 0 || this.state !== "open") return this.take()
      return Effect.callback((resume) => {
        this.wake = () => {
          this.wake = undefined
          resume(this.take())
        }
        this.controller.resume()
        return Effect.sync(() => {
          this.wake = undefined
        })
      })
    })
  }

  /** All of it, in memory of its own. An interruption closes the socket. */
  get collect(): Whole {
    return Effect.suspend((): Whole => {
      if (this.state !== "open") return this.takeAll()
      return Effect.callback((resume) => {
        this.collecting = true
        this.wake = () => {
          this.wake = undefined
          resume(this.takeAll())
        }
        this.controller.resume()
        return Effect.sync(() => this.abort())
      })
    })
  }

  // undici takes a connection back one turn of the event loop after its response, by a `setImmediate` within its parser.
  // A reader that went on before that would open another connection for its next request.
  private wakeSoon(): void {
    if (this.wake === undefined || this.waking) return
    this.waking = true
    queueMicrotask(() =>
      setImmediate(() => {
        this.waking = false
        if (this.state !== "open" || (this.size > 0 && !this.collecting)) this.wake?.()
      })
    )
  }

  private take(): Chunks {
    const chunks = this.chunks
    if (Arr.isReadonlyArrayNonEmpty(chunks)) {
      this.chunks = []
      this.size = 0
      return Effect.succeed(chunks)
    }
    return this.state === "failed" ? this.failure : Cause.done()
  }

  private takeAll(): Whole {
    if (this.state === "failed") return this.failure
    const whole = new Uint8Array(this.size)
    let offset = 0
    for (const chunk of this.chunks) {
      whole.set(chunk, offset)
      offset += chunk.byteLength
    }
    // A second reader gets the same.
    this.chunks = [whole]
    return Effect.succeed(whole)
  }
}
