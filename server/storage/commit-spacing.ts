/**
 * The start of the next group commit. Every transaction costs a sync of the disk and a wake-up of its threads, whatever
 * its size: with several concurrent writers, it waits a moment for more writes. A single writer never waits.
 */

/** Milliseconds from the begin of one transaction to the next. */
const SPACING = 3

export class CommitSpacing {
  readonly #few: number
  #beganAt = Number.NEGATIVE_INFINITY
  #size = 0

  /** A group of up to `few` may be chance, and the next one does not wait. */
  constructor({ few }: { readonly few: number }) {
    this.#few = few
  }

  /** A group of so many begins. */
  begin(size: number): void {
    this.#beganAt = performance.now()
    this.#size = size
  }

  /** Few write at the moment. */
  get isQuiet(): boolean {
    return this.#size <= this.#few
  }

  /** Milliseconds that the next group is to wait; 0 where it may begin. */
  delay(): number {
    if (this.isQuiet) return 0
    return Math.max(0, Math.ceil(this.#beganAt + SPACING - performance.now()))
  }
}
