/** Changesets as the tests send them. */

import type { ChangesetHead, ChangesetOperation } from '#schemas/wire/wire.ts'
import type { Answer, Client, TestServer } from '../../support/server.ts'

export type Operation = ChangesetOperation

export const put = (
  kind: string,
  key: string,
  doc: Readonly<Record<string, unknown>> = {},
  more: Partial<Operation> = {},
): Operation => ({ op: 'put', kind, key, doc, ...more })

export const remove = (kind: string, key: string, more: Partial<Operation> = {}): Operation => ({
  op: 'delete',
  kind,
  key,
  ...more,
})

export const role = (name: string, fields: object = {}, more: Partial<Operation> = {}) =>
  put('role', name, { name, ...fields }, more)

export const client = (clientId: string, fields: object = {}, more: Partial<Operation> = {}) =>
  put('client', clientId, { clientId, publicClient: true, ...fields }, more)

export const user = (username: string, fields: object = {}, more: Partial<Operation> = {}) =>
  put('user', username, { username, ...fields }, more)

/** Argon2id of nothing in particular. */
export const phc = `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$${'A'.repeat(43)}`

export interface Sender {
  /** On the revision that the realm has, unless the head says otherwise. */
  apply(operations: readonly Operation[], head?: Partial<ChangesetHead>): Promise<Answer>
  /** Sends any value, as JSON unless it is text. */
  send(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
  revision(): Promise<number>
}

export const senderTo = (
  server: TestServer,
  realm: string,
  as: Pick<Client, 'send'> = server.admin,
): Sender => {
  const revision = async (): Promise<number> =>
    (await server.areas.realm.realms.find(realm))?.revision ?? 0
  const send: Sender['send'] = (body, headers = {}) =>
    as.send(
      'POST',
      `/admin/realms/${realm}/changesets`,
      typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      { 'content-type': 'application/json', ...headers },
    )
  return {
    revision,
    send,
    apply: async (operations, head = {}) =>
      send({ baseRevision: await revision(), source: 'estate', operations, ...head }),
  }
}

export const documentIn = (server: TestServer, realm: string, kind: string, key: string) =>
  server.areas.storage.db
    .selectFrom('documents')
    .selectAll()
    .where('realm', '=', realm)
    .where('kind', '=', kind)
    .where('key', '=', key)
    .executeTakeFirst()
