/** Counts cancelled calls, and lets a tool wait for the first one, so that a test need not poll. */
export class Cancellations {
  private count = 0
  private resolveFirst: (count: number) => void = () => {}
  readonly first: Promise<number> = new Promise((resolve) => {
    this.resolveFirst = resolve
  })

  add(): void {
    this.count += 1
    this.resolveFirst(this.count)
  }
}
