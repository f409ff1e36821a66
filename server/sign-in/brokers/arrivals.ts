/** What the answer of an identity provider means for a sign-in: its user, where a link names one, or a first sign-in. */

import type { Provider, UpstreamIdentity } from '#server/broker/protocol.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import { printable } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import { type PinnedFlow, pinFlow } from '../flow/pinned-flow.ts'
import type { Asked, Visitor } from '../flow/questions.ts'
import type { Passed } from '../flow/step.ts'
import { methodsOf } from './proofs.ts'
import type { SealedIdentities } from './sealed-identities.ts'

interface Parts {
  readonly users: Pick<Users, 'find'>
  readonly links: Pick<Links, 'find' | 'findOrphan' | 'takeOver' | 'touch' | 'tokensOf'>
  readonly identities: SealedIdentities
}

export type Arrived =
  | { readonly kind: 'passed'; readonly passed: Passed }
  /** The link names a user who may not sign in. */
  | { readonly kind: 'closed'; readonly user: UserRow | undefined }

export const createArrivals = ({ users, links, identities }: Parts) => {
  const flowsOf = async (
    { view }: Visitor,
    aliases: readonly (string | undefined)[],
  ): Promise<readonly PinnedFlow[]> =>
    Promise.all(aliases.flatMap((alias) => (alias === undefined ? [] : [pinFlow(view, alias)])))

  /** Some providers give a refresh token with the first consent alone: it is kept until another one comes. */
  const tokensAfter = (link: FederatedLinkRow, { tokens }: UpstreamIdentity) => {
    if (!tokens || tokens.refreshToken !== undefined) return tokens
    const before = links.tokensOf(link)
    return before?.givenBy === tokens.givenBy
      ? { ...tokens, refreshToken: before?.refreshToken }
      : tokens
  }

  return {
    /** Whether the link names this user. */
    isOf: async (
      provider: Provider,
      identity: UpstreamIdentity,
      { id }: Pick<UserRow, 'id'>,
    ): Promise<boolean> => (await links.find(provider, identity))?.user_id === id,

    of: async (
      visitor: Visitor,
      { execution }: Asked,
      provider: Provider,
      identity: UpstreamIdentity,
    ): Promise<Arrived> => {
      const { realm } = visitor
      const { id, alias, doc } = provider
      const broker = { provider: id, path: execution.path, amr: methodsOf(identity) }
      const known = await links.find(provider, identity)
      const link = known ?? (await links.findOrphan(provider, identity))
      if (!link) {
        const flows = await flowsOf(visitor, [doc.firstLoginFlow, doc.postLoginFlow])
        const name = printable(identity.email ?? identity.username ?? identity.subject, 320)
        const sealed = identities.seal(realm, broker, identity)
        return { kind: 'passed', passed: { name, amr: [], broker: sealed, flows } }
      }
      const user = await users.find(realm, link.user_id)
      if (user?.enabled !== 1 || user.locked === 1) return { kind: 'closed', user }
      const tokens = doc.storeToken ? tokensAfter(link, identity) : undefined
      const username = identity.username ?? identity.email
      return {
        kind: 'passed',
        passed: {
          user,
          amr: broker.amr,
          broker: identities.seal(realm, { ...broker, linked: user.id }, identity),
          flows: await flowsOf(visitor, [doc.postLoginFlow]),
          statements: [
            ...(known ? [] : [links.takeOver(link, provider)]),
            links.touch(link, { alias, username, tokens }),
          ],
        },
      }
    },
  }
}

export type Arrivals = ReturnType<typeof createArrivals>
