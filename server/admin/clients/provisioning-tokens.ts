/** Bearers that let others provision: initial access tokens (RFC 7591 §3) and SCIM tokens. Shown once, stored hashed. */

import { Problem } from '#schemas/problems.ts'
import { defaultScimSender, type ScimScope, scimScopes } from '#schemas/wire/scim.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import {
  deleteProvisioningToken,
  insertProvisioningToken,
  listProvisioningTokens,
} from '#server/provisioning/provisioning-tokens.ts'
import { permissionFor } from '#server/provisioning/scim/in/access-tokens.ts'
import {
  insertScimToken,
  revokeScimToken,
  scimTokenRows,
  scopesOf,
} from '#server/provisioning/scim/in/tokens.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { ProvisioningTokenRow } from '#server/storage/tables/provisioning-tables.ts'
import type { ScimTokenRow } from '#server/storage/tables/scim-in-tables.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface TokenParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly clock: Clock
  readonly baseUrl: string
}

interface TokenKind {
  readonly purpose: ProvisioningTokenRow['purpose']
  readonly segment: string
  readonly name: string
}

const initialAccess: TokenKind = {
  purpose: 'initial-access',
  segment: 'initial-access-tokens',
  name: 'initial-access-token',
}
const scim: TokenKind = { purpose: 'scim', segment: 'scim-tokens', name: 'scim-token' }

const properties = {
  id: { type: 'string', format: 'uuid' },
  timestamp: { type: 'integer', description: 'When it was made, in epoch milliseconds.' },
  expiration: { type: 'integer', description: 'Lifetime in seconds; 0 means unlimited.' },
  count: { type: ['integer', 'null'], description: 'Uses; null means any number.' },
  remainingCount: { type: ['integer', 'null'] },
  label: { type: ['string', 'null'] },
} as const

/** What a SCIM token has beside those. */
const scimProperties = {
  sender: { type: 'string', description: 'The sender; its tokens share the external ids.' },
  scopes: { type: 'array', items: { type: 'string', enum: scimScopes } },
  lastUsedAt: { type: ['integer', 'null'], description: 'In epoch milliseconds, by the minute.' },
} as const

const shown = (row: ProvisioningTokenRow) => ({
  id: row.id,
  timestamp: row.created_at,
  expiration: row.expires_at === null ? 0 : Math.round((row.expires_at - row.created_at) / 1000),
  count: row.uses,
  remainingCount: row.remaining,
  label: row.label,
})

const shownScim = (row: ScimTokenRow | undefined) => ({
  sender: row?.sender ?? defaultScimSender,
  scopes: scopesOf(row),
  lastUsedAt: row?.last_used_at ?? null,
})

/** A sender writes users and groups with its token: a caller grants only permissions that the caller holds. */
const refuseGrant = ({ caller }: ActionContext, scopes: readonly ScimScope[]): void => {
  for (const scope of scopes)
    if (!caller.permissions.has(permissionFor[scope]))
      throw new Problem(
        'forbidden',
        `a SCIM token for ${scope} acts with ${permissionFor[scope]}, which you do not hold`,
      )
}

const actionsOf = (parts: TokenParts, { purpose, segment, name }: TokenKind): Action[] => {
  const { storage, recorder, clock, baseUrl } = parts
  const path = `/provisioning/${segment}`
  const common = { permission: 'manage-realm', resourceType: segment } as const
  const isScim = purpose === 'scim'
  const replied = isScim ? { ...properties, ...scimProperties } : properties

  return [
    {
      ...common,
      operationId: `create-${name}`,
      method: 'POST',
      path,
      summary: 'Makes a token, answered once',
      body: bodyOf(
        {
          expiration: { type: 'integer', minimum: 0, maximum: 315_360_000, default: 86_400 },
          ...(isScim
            ? {
                sender: {
                  type: 'string',
                  pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
                  default: defaultScimSender,
                },
                scopes: {
                  type: 'array',
                  items: { type: 'string', enum: scimScopes },
                  minItems: 1,
                  uniqueItems: true,
                  default: scimScopes,
                },
              }
            : { count: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 } }),
          label: { type: 'string', maxLength: 255 },
        },
        [],
      ),
      reply: {
        status: 201,
        schema: bodyOf({
          ...replied,
          token: { type: 'string' },
          ...(isScim ? { url: { type: 'string', description: 'Where the sender sends to.' } } : {}),
        }),
      },
      handle: async (context) => {
        const { expiration, count, label, sender, scopes } = asChecked<{
          expiration: number
          count?: number
          label?: string
          sender: string
          scopes: readonly ScimScope[]
        }>(context.body)
        if (isScim) refuseGrant(context, scopes)
        const now = clock.now()
        const token = randomToken(32)
        const row: ProvisioningTokenRow = {
          id: newId(),
          realm: context.realm,
          purpose,
          hash: sha256(token),
          label: label ?? null,
          created_at: now,
          expires_at: expiration === 0 ? null : now + expiration * 1000,
          uses: count ?? null,
          remaining: count ?? null,
        }
        const scimRow = isScim
          ? { token_id: row.id, sender, scopes: scopes.join(' '), last_used_at: null }
          : undefined
        await recorder.commit(
          [
            ...insertProvisioningToken(storage, row),
            ...(scimRow ? insertScimToken(storage, scimRow) : []),
          ],
          [actionEvent(context, 'ADMIN_CREATE', { type: segment, id: row.id })],
        )
        context.reply.header('location', `${context.request.url.split('?')[0]}/${row.id}`)
        const url = `${baseUrl}/realms/${context.realm}/scim/v2`
        return { ...shown(row), ...(scimRow ? { ...shownScim(scimRow), url } : {}), token }
      },
    },
    {
      ...common,
      operationId: `list-${name}s`,
      method: 'GET',
      path,
      summary: 'Tokens that exist, without their values',
      reply: { status: 200, schema: { type: 'array', items: bodyOf(replied) } },
      handle: async ({ realm }) => {
        const rows = await listProvisioningTokens(storage, realm, purpose)
        if (!isScim) return rows.map(shown)
        const more = await scimTokenRows(
          storage,
          rows.map(({ id }) => id),
        )
        const byId = new Map(more.map((one) => [one.token_id, one]))
        return rows.map((row) => ({ ...shown(row), ...shownScim(byId.get(row.id)) }))
      },
    },
    {
      ...common,
      operationId: `delete-${name}`,
      method: 'DELETE',
      path: `${path}/:tokenId`,
      summary: 'Revokes a token at once',
      reply: noContent,
      handle: async (context) => {
        const id = context.params['tokenId'] ?? ''
        try {
          await recorder.commit(
            isScim
              ? revokeScimToken(storage, { id, realm: context.realm })
              : [deleteProvisioningToken(storage, { id, realm: context.realm, purpose })],
            [actionEvent(context, 'ADMIN_DELETE', { type: segment, id })],
          )
        } catch (error) {
          if (!(error instanceof GuardFailedError)) throw error
          throw new Problem('not-found', `there is no token "${id}"`)
        }
      },
    },
  ]
}

export const provisioningTokenActions = (parts: TokenParts): Action[] => [
  ...actionsOf(parts, initialAccess),
  ...actionsOf(parts, scim),
]
