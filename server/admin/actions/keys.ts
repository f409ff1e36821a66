/** The realm's signing keys: list, rotate, delete. They are data: no revision, but caches are told. */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/events/audit.ts'
import { makeSigningKey, signingKeyKind } from '#server/keys/signing-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { SigningKeyRow } from '#server/storage/tables.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface KeyParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly keyring: Keyring
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

export const keyActions = ({ storage, recorder, keyring, clock }: KeyParts): Action[] => {
  const { db } = storage
  const keysIn = ({ realm }: ActionContext) =>
    db.selectFrom('signing_keys').selectAll().where('realm', '=', realm)

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
      handle: async (context) => {
        const { realm } = context
        const key = await makeSigningKey(realm, keyring, clock)
        await recorder.commit(
          [
            guarded(
              db
                .updateTable('signing_keys')
                .set({ status: 'PASSIVE', rotated_at: key.created_at })
                .where('realm', '=', realm)
                .where('status', '=', 'ACTIVE'),
              'active-key',
            ),
            ...insertRows(db, 'signing_keys', [key]),
            ...touchStatements(storage, realm, [{ kind: signingKeyKind, key: key.id }]),
          ],
          [
            actionEvent(context, 'ADMIN_ACTION', { type: 'keys', id: key.id }, 'rotated'),
            actionEvent(context, 'KEY_ROTATED', { type: 'keys', id: key.id }),
          ],
        )
        return shown(key)
      },
    },
    {
      ...common,
      operationId: 'delete-key',
      method: 'DELETE',
      path: '/keys/:keyId',
      summary: 'Removes a retained key; tokens it signed no longer verify',
      reply: noContent,
      handle: async (context) => {
        const id = context.params['keyId'] ?? ''
        const key = await keysIn(context).where('id', '=', id).executeTakeFirst()
        if (!key) throw new Problem('not-found', `there is no key "${id}"`)
        if (key.status === 'ACTIVE')
          throw new Problem('key-active', 'this key signs: rotate first, then delete it')
        await recorder.commit(
          [
            statement(
              db.deleteFrom('signing_keys').where('id', '=', id).where('status', '=', 'PASSIVE'),
              { rows: 1, guard: 'passive-key' },
            ),
            ...touchStatements(storage, context.realm, [{ kind: signingKeyKind, key: id }]),
          ],
          [actionEvent(context, 'ADMIN_DELETE', { type: 'keys', id })],
        )
      },
    },
  ]
}
