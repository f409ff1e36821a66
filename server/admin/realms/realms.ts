/** Realms themselves: for administrators of the master realm. */

import { Problem } from '#schemas/problems.ts'
import { nest } from '#schemas/realm/realm-document.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import type { RealmRecord } from '#schemas/wire/records.ts'
import type { Realms } from '#server/realm/realms.ts'
import type { RealmRow } from '#server/storage/tables/tables.ts'
import { type Action, asChecked, bodyOf, noContent } from '../action.ts'

const realmSchema = bodyOf({
  realm: { type: 'string' },
  revision: { type: 'integer', description: 'Of its configuration.' },
  createdAt: { type: 'integer' },
})

const shown = (row: RealmRow): RealmRecord => ({
  realm: row.name,
  revision: row.revision,
  createdAt: row.created_at,
})

const common = { permission: 'realm-admin', resourceType: 'realms' } as const

export const listRealms = (realms: Realms): Action => ({
  ...common,
  operationId: 'list-realms',
  method: 'GET',
  path: '/admin/realms',
  summary: 'All realms',
  reply: { status: 200, schema: { type: 'array', items: realmSchema } },
  handle: async () => (await realms.list()).map(shown),
})

export const createRealm = (realms: Realms): Action => ({
  ...common,
  operationId: 'create-realm',
  method: 'POST',
  path: '/admin/realms',
  summary: 'Makes a realm with its seeds; with a password also its first administrator',
  body: bodyOf(
    {
      realm: { type: 'string', format: 'realm-name' },
      displayName: { type: 'string', maxLength: 255 },
      adminUsername: { type: 'string', minLength: 1, maxLength: 255, default: 'admin' },
      adminPassword: { type: 'string', minLength: 1, maxLength: 1024 },
    },
    ['realm'],
  ),
  reply: { status: 201, schema: realmSchema },
  handle: async ({ body, caller, reply }) => {
    const { realm, displayName, adminUsername, adminPassword } = asChecked<
      Record<'realm' | 'adminUsername', string> & { displayName?: string; adminPassword?: string }
    >(body)
    const row = await realms.create(
      {
        realm,
        ...(displayName === undefined ? {} : { displayName }),
        ...(adminPassword === undefined
          ? {}
          : { admin: { username: adminUsername, password: adminPassword } }),
      },
      caller,
    )
    reply.header('location', `/admin/realms/${row.name}`)
    return shown(row)
  },
})

export const readRealm = (realms: Realms): Action => ({
  ...common,
  operationId: 'read-realm',
  method: 'GET',
  path: '/admin/realms/:name',
  summary: 'One realm',
  reply: { status: 200, schema: realmSchema },
  handle: async ({ params }) => {
    const row = await realms.find(params['name'] ?? '')
    if (!row) throw new Problem('not-found', `there is no realm "${params['name']}"`)
    return shown(row)
  },
})

export const deleteRealm = (realms: Realms): Action => ({
  ...common,
  operationId: 'delete-realm',
  method: 'DELETE',
  path: '/admin/realms/:name',
  summary: 'Deletes a realm with everything in it',
  reply: noContent,
  handle: ({ params, caller }) => realms.delete(params['name'] ?? '', caller),
})

export const readRealmDefaults = (): Action => ({
  ...common,
  operationId: 'read-realm-defaults',
  method: 'GET',
  path: '/admin/realm-defaults',
  summary: 'The built-in documents of a new realm, in the shape of a realm file',
  reply: { status: 200, schema: { type: 'object', additionalProperties: true } },
  handle: async () => nest(seeds.map(({ kind, key, doc }) => ({ kind, key, value: doc }))),
})
