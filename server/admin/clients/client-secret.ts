/**
 * The secret of a client. Hashed (the default) it can be replaced and never shown; revealable it can be read, which
 * leaves a SECURITY event. After a replacement the old one stays good for `graceSeconds`, so that nothing goes down.
 */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken } from '#server/platform/random.ts'
import { findIn } from '#server/realm/read/find.ts'
import { keepClientSecret, replacedClientSecret } from '#server/realm/rules/previous-secrets.ts'
import type { RefuseUnlessOutranked } from '#server/realm/rules/stronger.ts'
import { editOf, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface ClientSecretParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly writer: Writer
  readonly vault: Vault
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
  readonly clock: Clock
}

const longestGrace = 30 * 24 * 3600
const pointer = '/secret'

const secretSchema = bodyOf({
  type: { type: 'string', enum: ['secret'] },
  value: { type: ['string', 'null'], description: 'Null where it is stored as a hash.' },
  secretSet: { type: 'boolean' },
  createdAt: { type: ['integer', 'null'] },
  expiresAt: { type: ['integer', 'null'], description: 'Until when the one before is good.' },
})

const confidentialIn = async ({ view, params }: ActionContext): Promise<StoredDocument> => {
  const client = await findIn(view, Client, params['clientId'] ?? '')
  if (contentOf<ClientDoc>(client).publicClient)
    throw new Problem('conflict', 'a public client has no secret')
  return client
}

const event = (context: ActionContext, client: StoredDocument, detail: string): AuditEvent =>
  actionEvent(context, 'UPDATE_CREDENTIAL', { type: Client.resourceType, id: client.id }, detail)

const common = { path: '/clients/:clientId/secret', permission: 'manage-clients' } as const

export const readClientSecret = (parts: ClientSecretParts): Action => ({
  ...common,
  operationId: 'read-client-secret',
  method: 'GET',
  events: ['UPDATE_CREDENTIAL'],
  resourceType: Client.resourceType,
  summary: 'The secret where it is revealable; otherwise only that there is one',
  reply: { status: 200, schema: secretSchema },
  handle: async (context) => {
    const { storage, recorder, vault, refuseUnlessOutranked } = parts
    const client = await confidentialIn(context)
    const stored = client.secrets[pointer]
    const row = await replacedClientSecret(storage, client.id)
    const value = stored ? vault.reveal(client, pointer, stored) : null
    if (value !== null) {
      await refuseUnlessOutranked(context.realm, [client], context.caller)
      await recorder.append([], [event(context, client, 'secret revealed')])
    }
    return {
      type: 'secret',
      value,
      secretSet: stored !== undefined,
      createdAt: row?.created_at ?? (stored ? client.createdAt : null),
      expiresAt: row?.previous_expires_at ?? null,
    }
  },
})

export const regenerateClientSecret = (parts: ClientSecretParts): Action => {
  const keepPrevious = (client: StoredDocument, graceSeconds: number): Statement =>
    keepClientSecret(parts.storage, client, {
      now: parts.clock.now(),
      previous: client.secrets[pointer],
      graceMs: graceSeconds * 1000,
    })

  return {
    ...common,
    operationId: 'regenerate-client-secret',
    method: 'POST',
    events: ['ADMIN_UPDATE', 'UPDATE_CREDENTIAL'],
    resourceType: Client.resourceType,
    summary: 'Generates a new secret, returned once; the old one may stay valid for a while',
    body: bodyOf({ graceSeconds: { type: 'integer', minimum: 0, maximum: longestGrace } }, []),
    reply: { status: 200, schema: secretSchema },
    handle: async (context) => {
      const client = await confidentialIn(context)
      const value = randomToken(32)
      const graceSeconds = Number(context.body['graceSeconds'] ?? 0)
      await parts.writer.write({
        realm: context.realm,
        caller: context.caller,
        channel: restChannel,
        operations: [editOf(Client, client, (before) => before, { [pointer]: value })],
        alongside: (effects) => ({
          statements: [keepPrevious(effects[0]?.before ?? client, graceSeconds)],
          events: [event(context, client, 'secret regenerated')],
        }),
      })
      const now = parts.clock.now()
      const expiresAt = graceSeconds > 0 ? now + graceSeconds * 1000 : null
      return { type: 'secret', value, secretSet: true, createdAt: now, expiresAt }
    },
  }
}
