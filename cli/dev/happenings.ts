/** The events of `iamctl dev` for its views. The JSON view writes these objects. */

import type { EventRecord } from '#schemas/wire/events.ts'
import type { ApplyOutcome } from './outcome.ts'
import type { LoggedMessage } from './server/server-log.ts'

export interface Administrator {
  readonly username: string
  readonly password: string
  readonly signIn: string
}

export interface RealmLinks {
  readonly realm: string
  readonly signIn: string
  /** Where it answers. */
  readonly discovery: string | null
}

export interface TestUser {
  readonly realm: string
  readonly username: string
  /** Only a generated value, or one that is written in the files. */
  readonly password: string | null
  /** Where the password comes from, if it is not shown. */
  readonly from: string | null
}

/** Why the files are applied. */
export type Occasion =
  | { readonly why: 'start' }
  | { readonly why: 'asked' }
  | { readonly why: 'saved'; readonly files: readonly string[] }

export type Happening =
  | {
      readonly type: 'starting'
      readonly version: string
      readonly data: string
      readonly kept: boolean
    }
  | { readonly type: 'port-taken'; readonly wanted: number; readonly port: number }
  | {
      readonly type: 'server-ready'
      readonly url: string
      readonly pid: number | null
      readonly docs: string
      readonly api: string
      readonly admin: Administrator
    }
  | { readonly type: 'secrets-made'; readonly names: readonly string[]; readonly file: string }
  | { readonly type: 'applying'; readonly occasion: Occasion }
  | { readonly type: 'synced'; readonly occasion: Occasion; readonly outcome: ApplyOutcome }
  | {
      readonly type: 'realms'
      readonly realms: readonly RealmLinks[]
      readonly users: readonly TestUser[]
    }
  /** The realm is applied and its page answers; or it is not, and the files must be put right first. */
  | { readonly type: 'ready'; readonly milliseconds: number; readonly applied: boolean }
  | { readonly type: 'event'; readonly event: EventRecord; readonly actorName: string }
  | { readonly type: 'message'; readonly message: LoggedMessage }
  | { readonly type: 'server-log'; readonly level: string; readonly message: string }
  | { readonly type: 'not-watched'; readonly folder: string; readonly message: string }
  | { readonly type: 'stopping' }
  | { readonly type: 'stopped'; readonly data: string; readonly kept: boolean }

export type Stamped = Happening & { readonly at: Date }

/** Where a view shows itself, and what a person can ask for through it. */
export interface DevView {
  show(happening: Stamped): void
  /** Gives the terminal back. */
  close(): Promise<void>
}

/** Opens the view; who reads it decides which one fits. */
export type OpenDevView = (
  controls: Controls,
  reader: {
    readonly env: Readonly<Record<string, string | undefined>>
    readonly color: boolean
  },
) => Promise<DevView>

export interface Controls {
  quit(): void
  applyAgain(): void
}
