/** A realm with a client and a user, below any endpoint: what tokens are made of and checked against. */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { NewGrant } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { Backend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

export interface TokenWorld {
  readonly server: TestServer
  readonly clock: Clock & { advance(ms: number): void }
  issuer(): Promise<Issuer>
  /** Of the realm; throws unless it is answered 2xx. */
  admin(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly body: { readonly [name: string]: string } }>
  client(doc: Partial<ClientDoc> & { readonly clientId: string }): Promise<TokenClient>
  /** The client as it is now. */
  again(client: TokenClient): Promise<TokenClient>
  user(fields: Partial<UserFields> & { readonly username: string }): Promise<UserRow>
  session(user: UserRow): Promise<SessionRow>
  grant(client: TokenClient, user: UserRow, more?: Partial<NewGrant>): Promise<TokenGrantRow>
  holds(user: UserRow, roles: readonly string[], groups?: readonly string[]): Promise<void>
  close(): Promise<void>
}

export const openWorld = async (backend: Backend): Promise<TokenWorld> => {
  let now = Date.now()
  const clock = {
    now: () => now,
    advance: (ms: number) => {
      now += ms
    },
  }
  const server = await startServer(backend, { clock })
  const realm = 'acme'
  const base = await server.createRealm(realm)
  const { areas } = server

  const issuer = async (): Promise<Issuer> => {
    const found = await areas.tokens.issuers.fresh(realm)
    if (!found) throw new Error(`no realm ${realm}`)
    return found
  }
  const admin: TokenWorld['admin'] = async (method, path, body) => {
    // The clock may have gone past the last session.
    const { send } = await server.signedIn('master', 'admin')
    const answer = await send(method, `${base}${path}`, body)
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
    return answer
  }
  const byId = async (id: string): Promise<TokenClient> => {
    const document = await (await issuer()).view.byId('client', id)
    if (!document) throw new Error(`no client ${id}`)
    return clientOf(document)
  }
  return {
    server,
    clock,
    issuer,
    admin,
    client: async (doc) => byId((await admin('POST', '/clients', doc)).body['id'] ?? ''),
    again: ({ id }) => byId(id),
    user: async (fields) => {
      const row = newUserRow(fields, { id: newId(), realm, now })
      await areas.storage.commit(areas.users.store.createStatements(row))
      return row
    },
    session: async (user) => {
      const opened = areas.sessions.openStatements({
        realm,
        userId: user.id,
        ip: '127.0.0.1',
        userAgent: 'test',
        rememberMe: false,
        settings: (await issuer()).settings,
      })
      await areas.storage.commit(opened.statements)
      return opened.session
    },
    grant: async (client, user, more = {}) => {
      const { grant, statements } = areas.tokens.grantsStore.create({
        realm,
        clientId: client.id,
        userId: user.id,
        scope: ['openid'],
        expiresAt: now + 3_600_000,
        ...more,
      })
      await areas.storage.commit(statements)
      return grant
    },
    holds: async (user, roles, groups = []) => {
      const { view } = await issuer()
      const ids = async (kind: string, keys: readonly string[]): Promise<string[]> =>
        (await Promise.all(keys.map((key) => view.get(kind, key)))).flatMap((one) => one?.id ?? [])
      const roleIds = [...(await ids('role', roles)), ...(await ids('client-role', roles))]
      const { db } = areas.storage
      await areas.storage.commit([
        ...insertRows(
          db,
          'user_roles',
          roleIds.map((role_id) => ({ user_id: user.id, role_id })),
        ),
        ...insertRows(
          db,
          'user_groups',
          (await ids('group', groups)).map((group_id) => ({ user_id: user.id, group_id })),
        ),
      ])
    },
    close: () => server.close(),
  }
}
