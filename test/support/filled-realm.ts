/** A realm with a document of every kind, each with all the secrets it can have, made from the schemas alone. */

import { permissionKeys } from '#schemas/access/permissions.ts'
import { isObject } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import type { WriteChannel } from '#server/realm/write/operations.ts'
import { bodyWithReferences, leastBody } from './samples.ts'
import type { TestServer } from './server.ts'

export const pipeline = {
  actor: 'pipeline',
  sourceIp: '127.0.0.1',
  permissions: new Set(permissionKeys),
}
export const estate: WriteChannel = { via: 'changeset', origin: 'declared', owner: 'estate' }

/** Of every secret that a filled realm holds, so that it is found wherever it leaks. */
export const secretMark = 'nobody-may-see-this'

let count = 0

/** Every secret that the kind has, where its example can have one. */
const withSecrets = (kind: Kind, body: Record<string, unknown>): Record<string, unknown> => {
  const full = structuredClone(body)
  for (const { pointer, mark } of secretFields(kind)) {
    if (mark.store === 'initial') continue
    const [field = '', inner] = pointer.slice(1).split('/')
    count += 1
    const value = `${secretMark}-${count}`.padEnd(40, '-')
    if (inner === undefined) full[field] = value
    // Which members of an object go together is the kind's own matter: those of its example do.
    else if (isObject(full[field]) && inner === 'clientSecret')
      full[field] = { ...full[field], [inner]: value }
  }
  return full
}

export const fillRealm = async (server: TestServer, realm: string): Promise<void> => {
  const base = `/admin/realms/${realm}`
  const made = new Map<string, { readonly id: string; readonly key: string }>()

  const make = async (kind: Kind, more: Record<string, unknown> = {}) => {
    const known = made.get(kind.kind)
    if (known && Object.keys(more).length === 0) return known
    const parent =
      kind.shape === 'child' && kind.parentKind !== null
        ? await make(kindNamed(kind.parentKind))
        : undefined
    const body = {
      ...withSecrets(
        kind,
        await bodyWithReferences(kind, async (other) => (await make(other)).key),
      ),
      ...more,
    }
    const url = `${base}${kind.path?.replace(/\{[a-z-]+\}/, parent?.id ?? '')}`
    const answer = await server.admin.send(kind.shape === 'upsert' ? 'PUT' : 'POST', url, body)
    if (answer.status >= 300) throw new Error(`${url}: ${JSON.stringify(answer.body)}`)
    const key = kind.keyFields.map((field) => answer.body[field]).join('/')
    const thing = {
      id: String(answer.body[kind.pathKey]),
      key: kind.shape === 'tree' ? `/${key}` : key,
    }
    made.set(kind.kind, known ?? thing)
    return thing
  }

  for (const kind of kinds) if (kind.path !== null && kind.shape !== 'singleton') await make(kind)
  const parentId = (await make(Group)).id
  await make(Group, { name: 'below', parentId })
  const { key: group } = await make(Group)
  const special: Readonly<Record<string, Record<string, unknown>>> = {
    user: {
      username: `${realm}-user`,
      roles: [(await make(kindNamed('role'))).key],
      groups: [`${group}/below`],
      organizations: [(await make(kindNamed('organization'))).key],
    },
    'key-policy': { rotateEvery: '90d' },
  }
  await server.areas.realm.writer.write({
    realm,
    caller: pipeline,
    channel: estate,
    operations: kinds
      .filter(({ path }) => path === null)
      .map((kind) => {
        const doc = special[kind.kind] ?? leastBody(kind)
        const key = kind.shape === 'singleton' ? kind.kind : String(doc[kind.keyFields[0] ?? ''])
        return { op: 'put', kind, key, doc, secrets: {} }
      }),
  })
}
