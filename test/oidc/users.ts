/** Users of an issuer under test, their sessions, and grants as an authorization would leave them. */

import type { UserFields } from '#schemas/wire/records.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { NewGrant } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { OidcSite, TestClient } from './fixture.ts'

export interface IssuedGrant {
  readonly grant: TokenGrantRow
  readonly refreshToken: string
}

export interface SignedIn {
  readonly session: SessionRow
  /** What a browser sends. */
  readonly cookie: string
}

const realm = 'acme'

export const issuerOf = async ({ server }: OidcSite): Promise<Issuer> => {
  const issuer = await server.areas.tokens.issuers.fresh(realm)
  if (!issuer) throw new Error(`no realm ${realm}`)
  return issuer
}

export const addUser = async (
  { server: { areas } }: OidcSite,
  fields: Partial<UserFields> & { readonly username: string },
): Promise<UserRow> => {
  const row = newUserRow(fields, { id: newId(), realm, now: areas.given.clock.now() })
  await areas.storage.commit(areas.users.store.createStatements(row))
  return row
}

export const openSession = async (site: OidcSite, { id }: UserRow): Promise<SignedIn> => {
  const { areas } = site.server
  const { session, cookieValue, statements } = areas.sessions.openStatements({
    realm,
    userId: id,
    ip: '127.0.0.1',
    userAgent: 'test',
    rememberMe: false,
    settings: (await issuerOf(site)).settings,
  })
  await areas.storage.commit(statements)
  return { session, cookie: `iam-session-${realm}=${cookieValue}` }
}

/** The client is among those to be told when the session ends. */
export const visit = async (
  { server: { areas } }: OidcSite,
  { sid, user_id }: SessionRow,
  { id }: TestClient,
): Promise<void> => {
  const { db } = areas.storage
  const row = { sid, client_id: id, user_id, realm, since: areas.given.clock.now() }
  await areas.storage.commit(insertRows(db, 'session_clients', [row]))
}

export const issueGrant = async (
  { server: { areas } }: OidcSite,
  client: TestClient,
  user: UserRow,
  more: Partial<NewGrant> & { readonly idle?: number } = {},
): Promise<IssuedGrant> => {
  const { idle = 1800, ...others } = more
  const {
    tokens: { grantsStore },
    storage,
    given: { clock },
  } = areas
  const { grant, statements } = grantsStore.create({
    realm,
    clientId: client.id,
    userId: user.id,
    scope: ['openid'],
    expiresAt: clock.now() + 36_000_000,
    ...others,
  })
  const made = grantsStore.createRefreshToken(grant.id, idle)
  await storage.commit([...statements, ...made.statements])
  return { grant, refreshToken: made.refreshToken }
}

/** An access token of a grant, as the token endpoint makes it. */
export const accessTokenOf = async (
  site: OidcSite,
  client: TestClient,
  user: UserRow,
  grant: TokenGrantRow,
  scope: readonly string[] = ['openid'],
  claims?: Claims,
): Promise<string> => {
  const { areas } = site.server
  const issuer = await issuerOf(site)
  const document = await issuer.view.byId('client', client.id)
  if (!document) throw new Error(`no client ${client.clientId}`)
  const { token } = await areas.tokens.mint.accessToken({
    issuer,
    client: clientOf(document),
    user,
    scope,
    authentication: {
      grantId: grant.id,
      sid: grant.sid ?? undefined,
      authTime: grant.created_at,
    },
    claims,
  })
  return token
}
