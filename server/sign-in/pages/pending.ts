/** A pending request that waits for a sign-in, independent of its protocol. */

import type { FastifyRequest } from 'fastify'
import type { RealmView } from '#server/storage/documents/copy.ts'

export interface PendingSignIn {
  /** A path of ours that the browser goes on to once it is signed in. */
  readonly continueTo: string
  /** What the form is filled with. */
  readonly username?: string | undefined
  /** In the form of Accept-Language. */
  readonly locales?: string | undefined
  /** The client that it is for. */
  readonly clientId?: string | undefined
  /** The name of the client on pages; undefined where the realm does not let it sign users in: a page speaks for no other. */
  readonly application?: ((view: RealmView) => Promise<string | undefined>) | undefined
  /** The organization that is asked for, by alias. */
  readonly organization?: string | undefined
  /** The invitation that this browser has opened, while it can be accepted. */
  readonly invitation?: { readonly id: string } | undefined
  /** The identity provider that is asked for, by alias. */
  readonly provider?: string | undefined
  /** Whether a proof from before does not do: also an identity provider asks its user again. */
  readonly fresh?: boolean | undefined
  /** The level that is asked for. */
  readonly acr?: string | undefined
  /** Whether the session that is there is to be strengthened, rather than replaced by a new sign-in. */
  readonly stepsUp?: boolean | undefined
  /** See `PageContext`. */
  readonly formTargets: readonly string[]
}

/** Undefined unless the handle is of this browser and good. */
export type FindPending = (
  request: FastifyRequest,
  realm: string,
  handle: string,
) => Promise<PendingSignIn | undefined>

/** Of several protocols, the one that knows the handle. */
export const firstOf =
  (all: readonly FindPending[]): FindPending =>
  async (request, realm, handle) => {
    for (const find of all) {
      const found = await find(request, realm, handle)
      if (found) return found
    }
    return undefined
  }

/** The parameter of the sign-in page that holds the handle. */
export const pendingParameter = 'authorization'

export const pendingHandle = ({ query }: FastifyRequest): string | undefined => {
  const value: unknown =
    typeof query === 'object' && query !== null ? Reflect.get(query, pendingParameter) : undefined
  // Given twice it is none that was made.
  return value === undefined || typeof value === 'string' ? value : ''
}
