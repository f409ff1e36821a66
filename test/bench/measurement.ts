/** Input and result of a measurement. */

import type { Backend, Server } from './backends.ts'

/** One line of a table: columns by name, the first one says what was measured. */
export type Row = Readonly<Record<string, string | number | undefined>>

export interface Result {
  readonly title: string
  /** What a reader must know to judge the figures. */
  readonly notes: readonly string[]
  readonly rows: readonly Row[]
}

export interface Bench {
  readonly backends: readonly Backend[]
  readonly serveBare: () => Promise<Server>
  /** A limit or a peer: a script of this folder, by its name. */
  readonly serveScript: (name: string) => Promise<Server>
  /** Tells the person who waits what is going on; not part of the result. */
  readonly progress: (text: string) => void
}

export type Measurement = (bench: Bench) => Promise<Result>
