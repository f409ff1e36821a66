/**
 * The accounts at identity providers that users have linked to their own. A link is made by a trip to the provider
 * (server/sign-in/brokers/linking.ts). It is removed only where another way to sign in is left. The link to a directory is not the
 * user's to remove: the account would outlive the entry, which an administrator of the directory disables or deletes.
 */

import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { isDirectory } from '#server/directories/directory.ts'
import { linkIssuer } from '#server/directories/linked-user.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { SignInProvider, SignInProviders } from '#server/sign-in/brokers/providers.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import { type Links, linkRecords } from '#server/users/links/links.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { sufficient } from './credentials/credentials.ts'
import { insistOnRecentStrength } from './credentials/strength.ts'
import { type Self, selfEvent } from './self.ts'

interface Parts {
  readonly links: Pick<Links, 'ofUser' | 'unlink'>
  readonly providers: Pick<SignInProviders, 'linkable' | 'byId' | 'isUsable'>
  readonly users: Users
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly recorder: Recorder
  readonly clock: Clock
}

export interface OwnIdentityRecord {
  readonly id: string
  readonly provider: string
  readonly linkedAs?: string | undefined
  /** The link is not the user's to remove. */
  readonly isFixed?: boolean
}

const isOfDirectory = ({ issuer }: FederatedLinkRow): boolean => issuer === linkIssuer

export const createOwnIdentities = (parts: Parts) => {
  const { links, providers, users, factors, recorder, clock } = parts

  const directoryOf = async (
    { issuer: { view } }: Self,
    { provider }: FederatedLinkRow,
  ): Promise<IdentityProviderDoc | undefined> => {
    const document = await view.byId(IdentityProvider.kind, provider)
    return document && isDirectory(document) ? contentOf<IdentityProviderDoc>(document) : undefined
  }

  const isWayIn = async (self: Self, row: FederatedLinkRow): Promise<boolean> => {
    const directory = await directoryOf(self, row)
    if (directory) return directory.enabled && !directory.linkOnly
    const found = await providers.byId(self.issuer.view, row.provider)
    return found !== undefined && providers.isUsable(found, {})
  }

  const nameOf = async (self: Self, row: FederatedLinkRow): Promise<string> =>
    (await directoryOf(self, row))?.displayName ??
    (await providers.byId(self.issuer.view, row.provider))?.name ??
    row.alias

  const hasAnother = async (self: Self, rows: readonly FederatedLinkRow[]): Promise<boolean> => {
    if (await factors.has(self.user.id, sufficient)) return true
    for (const row of rows) if (await isWayIn(self, row)) return true
    return false
  }

  return {
    /** Those that are linked, then those that could be. */
    list: async (self: Self): Promise<readonly OwnIdentityRecord[]> => {
      const { issuer, user } = self
      const rows = await links.ofUser(user.id)
      const known = await Promise.all(
        rows.map(async (row) => ({
          id: row.id,
          provider: await nameOf(self, row),
          linkedAs: row.username ?? row.subject,
          isFixed: isOfDirectory(row),
        })),
      )
      const linked = new Set(rows.map(({ provider }) => provider))
      const open = (await providers.linkable(issuer.view)).filter(({ id }) => !linked.has(id))
      return [...known, ...open.map(({ alias, name }) => ({ id: alias, provider: name }))]
    },

    records: async ({ issuer, user }: Self) =>
      linkRecords(issuer.view, await links.ofUser(user.id)),

    /** The provider to link; throws where there is none, or the sign-in is not recent. */
    linkable: async (self: Self, alias: string): Promise<SignInProvider> => {
      await insistOnRecentStrength(parts, self)
      const found = (await providers.linkable(self.issuer.view)).find((one) => one.alias === alias)
      if (!found) throw new Problem('not-found', 'There is no such identity provider.')
      return found
    },

    /** Throws where it is none of the user's, and where nothing would be left to sign in with. */
    unlink: async (self: Self, id: string): Promise<void> => {
      await insistOnRecentStrength(parts, self)
      const { user, issuer } = self
      const rows = await links.ofUser(user.id)
      const row = rows.find((one) => one.id === id)
      if (!row) throw new Problem('not-found', 'You have no such link.')
      if (isOfDirectory(row))
        throw new Problem('conflict', 'A link to a directory is removed by an administrator.')
      const others = rows.filter((one) => one !== row)
      if ((await isWayIn(self, row)) && !(await hasAnother(self, others)))
        throw new Problem('in-use', 'you need this to sign in: add another method first')
      const current = await users.find(issuer.name, user.id)
      if (!current) throw new Problem('not-found', 'There is no such user.')
      try {
        await recorder.commit(
          [
            // Two that are removed at once would each be the other's way in.
            ...users.updateStatements(current, changedUserRow(current, {}, clock.now())),
            links.unlink(row),
          ],
          [selfEvent(self, 'IDENTITY_PROVIDER_UNLINK', row.alias)],
        )
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        throw new Problem('conflict', 'It was changed at the same moment: try again.')
      }
    },
  }
}

export type OwnIdentities = ReturnType<typeof createOwnIdentities>
