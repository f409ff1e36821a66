/** The realm's signing keys: list, rotate, delete. They are data: no revision, but caches are told. */

import { Problem } from '#schemas/problems.ts'
import type { SigningKeys } from '#server/keys/rotation.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { SigningKeyRow } from '#server/storage/tables.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface KeyParts {
  readonly storage: Storage
  readonly signingKeys: SigningKeys
  readonly clock: Clock
}

const keySchema = bodyOf({
  keyId: { type: 'string', format: 'uuid' },
  algorithm: { type: 'string', enum: ['RSA'] },
  status: { type: 'string', enum: ['ACTIVE', 'PASSIVE'] },
  publicKey: { type: 'string', description: 'Base64 of the DER.' },
  certificate: { type: 'string', description: 'Base64 of the DER.' },
  createdAt: { type: 'integer' },
  rotatedAt: { type: ['integer', 'null'] },
})

const shown = (row: SigningKeyRow) => ({
  keyId: row.id,
  algorithm: row.algorithm,
  status: row.status,
  publicKey: row.public_key,
  certificate: row.certificate,
  createdAt: row.created_at,
  rotatedAt: row.rotated_at,
})

const common = { permission: 'manage-realm', resourceType: 'keys' } as const

export const keyActions = ({ storage, signingKeys, clock }: KeyParts): Action[] => {
  const { db } = storage
  const keysIn = ({ realm }: ActionContext) =>
    db.selectFrom('signing_keys').selectAll().where('realm', '=', realm)

  const refuseNeeded = async ({ view }: ActionContext, key: SigningKeyRow): Promise<void> => {
    const until = await signingKeys.neededUntil(view, key)
    if (until > clock.now())
      throw new Problem(
        'key-in-use',
        `tokens that this key signed may be valid until ${new Date(until).toISOString()}`,
        { extra: { validUntil: until } },
      )
  }

  return [
    {
      ...common,
      operationId: 'list-keys',
      method: 'GET',
      path: '/keys',
      summary: 'Active and retained signing keys, newest first',
      reply: { status: 200, schema: { type: 'array', items: keySchema } },
      handle: async (context) =>
        (await keysIn(context).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()).map(
          shown,
        ),
    },
    {
      ...common,
      operationId: 'rotate-keys',
      method: 'POST',
      events: ['ADMIN_ACTION', 'KEY_ROTATED'],
      path: '/keys/rotate',
      summary: 'Makes a new active key; the one before stays published for verification',
      reply: { status: 200, schema: keySchema },
      handle: async (context) =>
        shown(
          await signingKeys.rotate(context.realm, ({ id }) => [
            actionEvent(context, 'ADMIN_ACTION', { type: 'keys', id }, 'rotated'),
            actionEvent(context, 'KEY_ROTATED', { type: 'keys', id }),
          ]),
        ),
    },
    {
      ...common,
      operationId: 'delete-key',
      method: 'DELETE',
      path: '/keys/:keyId',
      summary: 'Removes a retained key, once no token that it signed can be valid any more',
      query: bodyOf(
        { force: { type: 'boolean', description: 'Also while tokens that it signed are valid.' } },
        [],
      ),
      reply: noContent,
      handle: async (context) => {
        const id = context.params['keyId'] ?? ''
        const key = await keysIn(context).where('id', '=', id).executeTakeFirst()
        if (!key) throw new Problem('not-found', `there is no key "${id}"`)
        if (key.status === 'ACTIVE')
          throw new Problem('key-active', 'this key signs: rotate first, then delete it')
        if (context.query['force'] !== true) await refuseNeeded(context, key)
        await signingKeys.remove(key, [actionEvent(context, 'ADMIN_DELETE', { type: 'keys', id })])
      },
    },
  ]
}
