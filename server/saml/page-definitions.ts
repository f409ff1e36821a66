/** The pages of the identity provider: messages sent by a form, and the state of a logout. */

import type { PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'

/** A form that is sent on by a script, or by a button where there are none. */
interface ResponsePage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

/** An application of a logout. */
interface LogoutEntry {
  readonly application: string
  readonly state: 'done' | 'waiting' | 'background' | 'failed' | 'asked'
  /** Where the user signs out there without scripts. */
  readonly byHand?: string | undefined
}

/** How far a logout has come at each application; asks again at `action` until it is over. */
interface LogoutPage extends PageContext {
  readonly action: string
  readonly statusUrl: string
  readonly isPending: boolean
  readonly isPartial: boolean
  readonly entries: readonly LogoutEntry[]
  /** Addresses in frames, and whatever else these lead to. */
  readonly frames: readonly string[]
  readonly framed: readonly string[]
  /** Where the browser goes on to. */
  readonly target?: string | undefined
  readonly application?: string | undefined
}

interface SignedOutPage extends PageContext {
  readonly application?: string | undefined
  readonly target: undefined
  readonly frames: readonly string[]
}

export const samlPages = {
  response: definePage<ResponsePage>('form-post', {
    script: () => 'submit',
    once: true,
    isFilled: true,
  }),
  /** Only our own page frames these. */
  framedRequest: definePage<ResponsePage>('form-post', {
    script: () => 'submit',
    once: true,
    isFramed: true,
  }),
  signedOutThere: definePage<SignedOutPage>('signed-out', { once: true, isFramed: true }),
  logout: definePage<LogoutPage>('logout', {
    script: ({ isPending }) => (isPending ? 'poll' : undefined),
    frames: ({ frames, framed }) => [...frames, ...framed],
    once: true,
  }),
}

export type SamlPages = Pages & PagesOf<typeof samlPages>
