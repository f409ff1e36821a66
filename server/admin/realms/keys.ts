/**
 * Signing keys of the realm and of clients with their own keys: list, rotate, delete. They are data: no revision, but caches
 * are invalidated. The list equals the published JWK set.
 */

import type { Permission } from '#schemas/access/permissions.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import { type KeyRecord, keyStatuses } from '#schemas/wire/records.ts'
import { type KeyState, keyStates } from '#server/keys/key-state.ts'
import type { KeyPolicies } from '#server/keys/policy.ts'
import type { SigningKeys } from '#server/keys/rotation.ts'
import type { KeyOwner } from '#server/keys/signing-keys.ts'
import { activeKeyOf, keysOfOwner } from '#server/keys/signing-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { RefuseUnlessOutranked } from '#server/realm/rules/stronger.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface KeyParts {
  readonly storage: Storage
  readonly signingKeys: SigningKeys
  readonly keyPolicies: KeyPolicies
  readonly clock: Clock
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
}

/** Whose keys they are. */
interface KeyPlace {
  readonly path: string
  readonly permission: Permission
  readonly operationIds: Readonly<Record<'list' | 'rotate' | 'delete', string>>
  readonly clientOf?: (context: ActionContext) => Promise<StoredDocument>
  /** For the summaries. */
  readonly whose: string
}

const resourceType = 'keys'

const keySchema = bodyOf({
  keyId: { type: 'string', format: 'uuid' },
  algorithm: { type: 'string', enum: ['RSA'] },
  status: {
    type: 'string',
    enum: [...keyStatuses],
    description:
      'ACTIVE signs, NEXT is published and will sign, PASSIVE verifies earlier signatures.',
  },
  publicKey: { type: 'string', description: 'Base64 of the DER.' },
  certificate: { type: 'string', description: 'Base64 of the DER.' },
  createdAt: { type: 'integer', description: 'When it was made.' },
  signsFrom: {
    type: ['integer', 'null'],
    description:
      'Of a NEXT key after a rotation: when it has been published for two minutes, or for publishAhead.',
  },
  rotatedAt: { type: ['integer', 'null'], description: 'When it was replaced.' },
})

const longestAheadMs = milliseconds('90d')

const aheadIn = ({ query }: ActionContext): number => {
  const { fresh, publishAhead } = asChecked<{ fresh?: boolean; publishAhead?: string }>(query)
  if (publishAhead === undefined) return 0
  const refuse = (code: string, message: string): Problem =>
    invalid([{ field: 'publishAhead', code, message }])
  if (fresh === true) throw refuse('fresh', 'cannot be given with fresh, which signs at once')
  const ahead = milliseconds(publishAhead)
  if (ahead > longestAheadMs) throw refuse('range', 'must be at most 90d')
  return ahead
}

const shown = ({ row, status, createdAt, signsFrom, rotatedAt }: KeyState): KeyRecord => ({
  keyId: row.id,
  algorithm: row.algorithm,
  status,
  publicKey: row.public_key,
  certificate: row.certificate,
  createdAt,
  signsFrom,
  rotatedAt,
})

const ofRealm: KeyPlace = {
  path: '/keys',
  permission: 'manage-realm',
  operationIds: { list: 'list-keys', rotate: 'rotate-keys', delete: 'delete-key' },
  whose: 'of the realm',
}

const ofClient: KeyPlace = {
  path: '/clients/:clientId/keys',
  permission: 'manage-clients',
  operationIds: {
    list: 'list-client-keys',
    rotate: 'rotate-client-keys',
    delete: 'delete-client-key',
  },
  clientOf: ({ view, params }) => findIn(view, Client, params['clientId'] ?? ''),
  whose: 'that the client has for itself',
}

const ownerIn = async ({ clientOf }: KeyPlace, context: ActionContext): Promise<KeyOwner> => ({
  realm: context.realm,
  clientId: (await clientOf?.(context))?.id ?? null,
})

/** Other keys end tokens of the client: a change needs what a write of the client needs. */
const changedOwnerIn = async (
  { clientOf }: KeyPlace,
  context: ActionContext,
  { refuseUnlessOutranked }: KeyParts,
): Promise<KeyOwner> => {
  const { realm, caller } = context
  const client = await clientOf?.(context)
  if (client) await refuseUnlessOutranked(realm, [client], caller)
  return { realm, clientId: client?.id ?? null }
}

const actionsAt = (place: KeyPlace, parts: KeyParts): Action[] => {
  const { path, permission, operationIds, whose } = place
  const { storage, signingKeys, keyPolicies, clock } = parts
  const common = { permission, resourceType } as const

  const keysOf = async (owner: KeyOwner): Promise<KeyState[]> =>
    keyStates(await keysOfOwner(storage, owner), clock.now())

  const keyOf = async (owner: KeyOwner, id: string): Promise<KeyState> => {
    const key = (await keysOf(owner)).find(({ row }) => row.id === id)
    if (!key) throw new Problem('not-found', `there is no key "${id}"`)
    return key
  }

  const refuseNeeded = async ({ view }: ActionContext, key: SigningKeyRow): Promise<void> => {
    const until = await keyPolicies.neededUntil(view, key)
    if (until > clock.now())
      throw new Problem(
        'key-in-use',
        `tokens that this key signed may be valid until ${new Date(until).toISOString()}`,
        { extra: { validUntil: until } },
      )
  }

  /** Also by force: the assertions for them would be signed by a key that they do not trust. */
  const refusePinned = async ({ view }: ActionContext, key: SigningKeyRow): Promise<void> => {
    const pins = await keyPolicies.pinsOf(view, key)
    if (pins.length > 0)
      throw new Problem(
        'key-in-use',
        `this key signs for ${pins.length} service providers by their pinnedKey, such as ` +
          `${pins[0]?.entityId}: change pinnedKey first`,
      )
  }

  return [
    {
      ...common,
      operationId: operationIds.list,
      method: 'GET',
      path,
      summary: `Signing keys ${whose}: the active one, those to come, and those that are retained`,
      reply: { status: 200, schema: { type: 'array', items: keySchema } },
      handle: async (context) => (await keysOf(await ownerIn(place, context))).map(shown),
    },
    {
      ...common,
      operationId: operationIds.rotate,
      method: 'POST',
      events: ['ADMIN_ACTION', 'KEY_ROTATED'],
      path: `${path}/rotate`,
      summary: `A new active key ${whose}, which signs once it is known; the one before stays published`,
      query: bodyOf(
        {
          fresh: {
            type: 'boolean',
            description:
              'After a compromise: a new key instead of the prepared one signs at once. Verifiers that fetched the keys ' +
              'within the last seconds may refuse its signatures until they fetch the keys again.',
          },
          publishAhead: {
            type: 'string',
            format: 'time-span',
            maxLength: 4,
            description:
              'How long the new key is published before it signs, such as 7d, at most 90d: for service providers that ' +
              'read SAML metadata from time to time. The key before it signs until then.',
          },
        },
        [],
      ),
      reply: { status: 200, schema: keySchema },
      handle: async (context) => {
        const fresh = context.query['fresh'] === true
        const aheadMs = aheadIn(context)
        const owner = await changedOwnerIn(place, context, parts)
        const { id: rotated } = await signingKeys.rotate(
          owner,
          ({ id }) => [
            actionEvent(context, 'ADMIN_ACTION', { type: resourceType, id }, 'rotated'),
            actionEvent(context, 'KEY_ROTATED', { type: resourceType, id }),
          ],
          { fresh, aheadMs },
        )
        return shown(await keyOf(owner, rotated))
      },
    },
    {
      ...common,
      operationId: operationIds.delete,
      method: 'DELETE',
      path: `${path}/:keyId`,
      summary: `Removes a retained key ${whose}, once no token that it signed can be valid any more`,
      query: bodyOf(
        { force: { type: 'boolean', description: 'Also while tokens that it signed are valid.' } },
        [],
      ),
      reply: noContent,
      handle: async (context) => {
        const id = context.params['keyId'] ?? ''
        const owner = await changedOwnerIn(place, context, parts)
        const { row, status } = await keyOf(owner, id)
        if (status === 'NEXT')
          throw new Problem('key-active', 'this key signs next: rotate twice, then delete it')
        if (status === 'ACTIVE' && row.rotated_at !== null) {
          const until = new Date(row.rotated_at).toISOString()
          throw new Problem(
            'key-active',
            `this key signs until ${until}, when the next one is known`,
          )
        }
        if (status === 'ACTIVE')
          throw new Problem('key-active', 'this key signs: rotate first, then delete it')
        await refusePinned(context, row)
        if (context.query['force'] !== true) await refuseNeeded(context, row)
        await signingKeys.remove(row, [
          actionEvent(context, 'ADMIN_DELETE', { type: resourceType, id }),
        ])
      },
    },
  ]
}

/** The way back: the client has no key that signs any more, so that the realm's does. */
const retireClientKeys = (parts: KeyParts): Action => ({
  permission: ofClient.permission,
  resourceType,
  operationId: 'retire-client-keys',
  method: 'POST',
  events: ['ADMIN_ACTION'],
  path: `${ofClient.path}/retire`,
  summary: "The client signs with the realm's key again; its own stay published for verification",
  reply: noContent,
  handle: async (context) => {
    const { storage, signingKeys } = parts
    const active = await activeKeyOf(storage, await changedOwnerIn(ofClient, context, parts))
    if (!active) throw new Problem('not-found', 'the client has no key of its own')
    await signingKeys.retire(active, [
      actionEvent(context, 'ADMIN_ACTION', { type: resourceType, id: active.id }, 'retired'),
    ])
  },
})

export const keyActions = (parts: KeyParts): Action[] => [
  ...actionsAt(ofRealm, parts),
  ...actionsAt(ofClient, parts),
  retireClientKeys(parts),
]
