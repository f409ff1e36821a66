/** The messages between the main thread and the writer thread. */

import type { Statement, StatementResult } from '../contract.ts'

export interface WriterData {
  readonly file: string
}

export interface Job {
  readonly id: number
  readonly statements: readonly Statement[]
}

export type ToThread = { readonly jobs: readonly Job[] } | { readonly close: true }

/** An error class does not survive the way between threads; its facts do. */
export type Failure =
  | { readonly kind: 'guard'; readonly guard: string }
  | {
      readonly kind: 'constraint'
      readonly constraint: 'unique' | 'foreign-key'
      readonly table: string
      readonly message: string
    }
  | { readonly kind: 'unavailable' | 'unknown' | 'refused'; readonly message: string }

export type Outcome =
  | { readonly id: number; readonly results: StatementResult[] }
  | { readonly id: number; readonly failure: Failure }

export type ToMain =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
