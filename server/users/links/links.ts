/**
 * Broker links: which account at an identity provider or in a directory belongs to which user. The key of a link is the
 * provider, the issuer and the subject; an email address or a name never is. A user has one link per provider.
 */

import { sql } from 'kysely'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'

/** The account at the provider. */
export interface LinkedAccount {
  readonly issuer: string
  readonly subject: string
  readonly username?: string | undefined
}

/** The provider as a link names it. */
export interface LinkProvider {
  readonly realm: string
  /** The id of its document. */
  readonly id: string
  readonly alias: string
}

export interface NewLink extends LinkedAccount {
  readonly userId: string
  readonly tokens?: StoredTokens | undefined
}

/** Tokens of the provider, kept with a link where `storeToken` is set. */
export interface StoredTokens {
  readonly accessToken?: string | undefined
  readonly refreshToken?: string | undefined
  readonly idToken?: string | undefined
  /** Of the access token, in epoch milliseconds. */
  readonly expiresAt?: number | undefined
  /** The origin of the token endpoint that gave them: the refresh token is sent nowhere else. */
  readonly givenBy?: string | undefined
}

/** Tokens do not open for another realm or link. */
export const linkTokensContext = (realm: string, id: string): string =>
  `${realm}/federated-link/${id}/tokens`

/** Links for people to read, without tokens, under the alias that the provider has now. */
export const linkRecords = (view: RealmView, links: readonly FederatedLinkRow[]) =>
  Promise.all(
    links.map(async (link) => {
      const provider = await view.byId(IdentityProvider.kind, link.provider)
      return {
        identityProvider: provider?.key ?? link.alias,
        issuer: link.issuer,
        userId: link.subject,
        userName: link.username,
        linkedAt: link.created_at,
        lastLoginAt: link.last_login_at,
      }
    }),
  )

type SubjectOfLink = Pick<FederatedLinkRow, 'provider' | 'subject' | 'user_id'>

/** Of links that are read one page after another. */
const pageSize = 1000

/** Fails where the link changed or is gone. */
const linkGuard = 'federated-link'

const linkBySubject = preparedQuery(
  'federated-link',
  (db, key: { realm: string; provider: string; issuer: string; subject: string }) =>
    db
      .selectFrom('federated_links')
      .selectAll()
      .where('realm', '=', key.realm)
      .where('provider', '=', key.provider)
      .where('issuer', '=', key.issuer)
      .where('subject', '=', key.subject),
)

/** Null leaves the name as it is. */
type Touch = {
  readonly id: string
  readonly user_id: string
  readonly alias: string
  readonly username: string | null
  readonly tokens: string | null
  readonly now: number
}

const touchLink = preparedStatement(
  (db, { id, user_id, alias, username, tokens, now }: Touch) =>
    db
      .updateTable('federated_links')
      .set({
        alias,
        last_login_at: now,
        tokens,
        username: sql<string | null>`coalesce(${username}, username)`,
      })
      .where('id', '=', id)
      .where('user_id', '=', user_id),
  { rows: 1, guard: linkGuard },
)

export const createLinks = ({
  storage: { db },
  clock,
  keyring,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
}) => {
  /** The index answers each page at once. */
  async function* pagesOf(
    { realm, id }: Pick<LinkProvider, 'realm' | 'id'>,
    issuer: string,
    alias?: string,
  ): AsyncGenerator<readonly SubjectOfLink[]> {
    for (let subject = ''; ; ) {
      const rows = await db
        .selectFrom('federated_links')
        .select(['provider', 'subject', 'user_id'])
        .where('realm', '=', realm)
        .where('provider', '=', id)
        .where('issuer', '=', issuer)
        .where('subject', '>', subject)
        .$if(alias !== undefined, (query) => query.where('alias', '=', alias ?? ''))
        .orderBy('subject')
        .limit(pageSize)
        .execute()
      if (rows.length > 0) yield rows
      const last = rows.at(-1)
      if (!last || rows.length < pageSize) return
      subject = last.subject
    }
  }

  /** From one provider to the next by the index: a read of all links would take long. */
  const deletedWithLinks = async (realm: string): Promise<string[]> => {
    const deleted: string[] = []
    for (let last = ''; ; ) {
      const row = await db
        .selectFrom('federated_links')
        .select([
          'provider',
          sql<unknown>`exists (select 1 from documents where documents.id = federated_links.provider)`.as(
            'is_there',
          ),
        ])
        .where('realm', '=', realm)
        .where('provider', '>', last)
        .orderBy('provider')
        .limit(1)
        .executeTakeFirst()
      if (!row) return deleted
      if (!row.is_there) deleted.push(row.provider)
      last = row.provider
    }
  }

  const sealTokens = (realm: string, id: string, tokens: StoredTokens): string =>
    JSON.stringify(keyring.seal(JSON.stringify(tokens), linkTokensContext(realm, id)))

  return {
    find: async (
      { realm, id }: Pick<LinkProvider, 'realm' | 'id'>,
      { issuer, subject }: LinkedAccount,
    ): Promise<FederatedLinkRow | undefined> => {
      const [row] = await linkBySubject(db, { realm, provider: id, issuer, subject })
      return row
    },

    /**
     * A link of a deleted provider that had the alias of this one: the same issuer vouches for the same subject, so the account
     * is the same. Commit `takeOver` with the sign-in that found it.
     */
    findOrphan: (
      { realm, id, alias }: LinkProvider,
      { issuer, subject }: LinkedAccount,
    ): Promise<FederatedLinkRow | undefined> =>
      db
        .selectFrom('federated_links')
        .selectAll()
        .where('realm', '=', realm)
        .where('alias', '=', alias)
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .where('provider', '!=', id)
        .where(
          sql<boolean>`not exists (select 1 from documents where documents.id = federated_links.provider)`,
        )
        .orderBy('created_at', 'desc')
        .executeTakeFirst(),

    takeOver: (link: FederatedLinkRow, { id }: LinkProvider): Statement =>
      guarded(
        db
          .updateTable('federated_links')
          .set({ provider: id })
          .where('id', '=', link.id)
          .where('provider', '=', link.provider),
        linkGuard,
      ),

    /** Links of deleted providers that had the alias of this one, of one issuer: a page after another. */
    async *orphansOf(
      { realm, id, alias }: LinkProvider,
      issuer: string,
    ): AsyncGenerator<readonly SubjectOfLink[]> {
      for (const provider of await deletedWithLinks(realm))
        if (provider !== id) yield* pagesOf({ realm, id: provider }, issuer, alias)
    },

    /** All links of a deleted provider become those of the one that replaced it. */
    takeOverAll: (deleted: string, { realm, id, alias }: LinkProvider, issuer: string): Statement =>
      statement(
        db
          .updateTable('federated_links')
          .set({ provider: id })
          .where('realm', '=', realm)
          .where('provider', '=', deleted)
          .where('alias', '=', alias)
          .where('issuer', '=', issuer),
      ),

    /** By alias. */
    ofUser: (userId: string): Promise<FederatedLinkRow[]> =>
      db
        .selectFrom('federated_links')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('alias')
        .execute(),

    countOf: async ({ realm, id }: Pick<LinkProvider, 'realm' | 'id'>): Promise<number> => {
      const row = await db
        .selectFrom('federated_links')
        .select((eb) => eb.fn.countAll<number>().as('links'))
        .where('realm', '=', realm)
        .where('provider', '=', id)
        .executeTakeFirst()
      return Number(row?.links ?? 0)
    },

    /** The users who are linked to a provider by one issuer, in the order of their subjects: a page after another. */
    subjectsOf: (
      provider: Pick<LinkProvider, 'realm' | 'id'>,
      issuer: string,
    ): AsyncGenerator<readonly SubjectOfLink[]> => pagesOf(provider, issuer),

    /**
     * The unique rules of the table refuse a subject that belongs to another user, and a second account of one provider for
     * the same user (`ConstraintError` of `federated_links`).
     */
    link: (provider: LinkProvider, accounts: readonly NewLink[]): Statement[] =>
      insertRows(
        db,
        'federated_links',
        accounts.map(({ issuer, subject, username, userId, tokens }) => {
          const id = newId()
          return {
            id,
            realm: provider.realm,
            provider: provider.id,
            alias: provider.alias,
            issuer,
            subject,
            user_id: userId,
            username: username ?? null,
            created_at: clock.now(),
            last_login_at: null,
            tokens: tokens ? sealTokens(provider.realm, id, tokens) : null,
          }
        }),
      ),

    /** Fails the guard where the link is gone already. */
    unlink: ({ id }: Pick<FederatedLinkRow, 'id'>): Statement =>
      guarded(db.deleteFrom('federated_links').where('id', '=', id), linkGuard),

    /** All of a user since a time, but for those of one issuer. */
    unlinkSince: (userId: string, since: number, kept: string): Statement =>
      statement(
        db
          .deleteFrom('federated_links')
          .where('user_id', '=', userId)
          .where('created_at', '>=', since)
          .where('issuer', '!=', kept),
      ),

    /** A sign-in through the link; tokens where the provider's are to be kept. Fails the guard where the link is gone. */
    touch: (
      link: Pick<FederatedLinkRow, 'id' | 'realm' | 'user_id'>,
      {
        alias,
        username,
        tokens,
      }: {
        readonly alias: string
        readonly username?: string | undefined
        readonly tokens?: StoredTokens | undefined
      },
    ): Statement =>
      touchLink(db, {
        id: link.id,
        user_id: link.user_id,
        alias,
        username: username ?? null,
        tokens: tokens ? sealTokens(link.realm, link.id, tokens) : null,
        now: clock.now(),
      }),

    /** Fails the guard where other tokens were kept meanwhile. */
    keepTokens: (
      link: Pick<FederatedLinkRow, 'id' | 'realm' | 'tokens'>,
      tokens: StoredTokens,
    ): Statement =>
      guarded(
        db
          .updateTable('federated_links')
          .set({ tokens: sealTokens(link.realm, link.id, tokens) })
          .where('id', '=', link.id)
          .where('tokens', '=', link.tokens),
        linkGuard,
      ),

    tokensOf: (
      link: Pick<FederatedLinkRow, 'id' | 'realm' | 'tokens'>,
    ): StoredTokens | undefined =>
      link.tokens === null
        ? undefined
        : (JSON.parse(
            keyring.open(
              JSON.parse(link.tokens) as SealedValue,
              linkTokensContext(link.realm, link.id),
            ),
          ) as StoredTokens),
  }
}

export type Links = ReturnType<typeof createLinks>
