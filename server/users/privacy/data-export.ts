/** The export of personal data of one user (GDPR articles 15 and 20). */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { Organization, type OrganizationDoc } from '#schemas/kinds/users/organization.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { AuditRecord } from '#schemas/wire/events.ts'
import type { Attributes } from '#schemas/wire/records.ts'
import type { ReadRecords } from '#server/audit/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type Links, linkRecords } from '../links/links.ts'

const exportSchemaName = 'iamctl.gdpr.export/v1'

export interface DataExport {
  readonly generatedAt: number
  readonly schema: typeof exportSchemaName
  readonly realmId: string
  readonly userId: string
  readonly profile: {
    readonly username: string
    readonly email: string | null
    readonly enabled: boolean
    readonly createdAt: number
  }
  readonly attributes: Attributes
  readonly roles: readonly string[]
  readonly realmMemberships: readonly { readonly realmId: string; readonly joinedAt: number }[]
  readonly organizations: readonly object[]
  readonly credentials: readonly object[]
  readonly federatedLinks: readonly object[]
  readonly consents: readonly object[]
  readonly loginEvents: readonly AuditRecord[]
}

const list = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'object', additionalProperties: true },
  description,
})

export const dataExportSchema: JsonSchema = {
  title: 'data-export',
  type: 'object',
  properties: {
    generatedAt: { type: 'integer' },
    schema: { type: 'string', enum: [exportSchemaName] },
    realmId: { type: 'string' },
    userId: { type: 'string', format: 'uuid' },
    profile: {
      type: 'object',
      properties: {
        username: { type: 'string' },
        email: { type: ['string', 'null'] },
        enabled: { type: 'boolean' },
        createdAt: { type: 'integer' },
      },
      required: ['username', 'email', 'enabled', 'createdAt'],
      additionalProperties: false,
    },
    attributes: { type: 'object', additionalProperties: true },
    roles: { type: 'array', items: { type: 'string' } },
    realmMemberships: list('Realms that the person is a member of.'),
    organizations: list('Organizations, with the time of joining, and invitations to join one.'),
    credentials: list('What the person signs in with; no secrets.'),
    federatedLinks: list(
      'Accounts at identity providers and in directories that are linked, SCIM senders that know the person, and accounts at SCIM targets; no tokens.',
    ),
    consents: list(
      'Consents to applications, agents that act for the person or belong to the person, and resources that are shared.',
    ),
    loginEvents: list('Events of sign-ins and tokens, newest first.'),
  },
  required: [
    'generatedAt',
    'schema',
    'realmId',
    'userId',
    'profile',
    'attributes',
    'roles',
    'realmMemberships',
    'organizations',
    'credentials',
    'federatedLinks',
    'consents',
    'loginEvents',
  ],
  additionalProperties: false,
}

export interface DataExportParts {
  readonly storage: Pick<Storage, 'db' | 'longReads'>
  readonly clock: Clock
  readonly links: Pick<Links, 'ofUser'>
  readonly readRecords: ReadRecords
  /** Accounts of the person elsewhere that come of provisioning. */
  readonly accountsOf: (view: RealmView, userId: string) => Promise<readonly object[]>
  readonly consentsOf: (view: RealmView, userId: string) => Promise<readonly object[]>
}

export type ExportData = (view: RealmView, user: UserRow) => Promise<DataExport>

const eventsAtOnce = 500

export const createDataExport = ({
  storage: { db, longReads },
  clock,
  links,
  readRecords,
  accountsOf,
  consentsOf,
}: DataExportParts): ExportData => {
  const rolesOf = async (view: RealmView, userId: string): Promise<string[]> => {
    const rows = await db
      .selectFrom('user_roles')
      .select('role_id')
      .where('user_id', '=', userId)
      .execute()
    const roles = await Promise.all(rows.map(({ role_id }) => view.byId(Role.kind, role_id)))
    return roles.flatMap((role) => (role ? [role.key] : [])).sort()
  }

  const organizationIn = async (view: RealmView, id: string) => {
    const document = await view.byId(Organization.kind, id)
    if (!document) return undefined
    const { alias, name } = contentOf<OrganizationDoc>(document)
    return { id, alias, name: name ?? null }
  }

  const membershipsOf = async (view: RealmView, userId: string) => {
    const rows = await db
      .selectFrom('organization_members')
      .selectAll()
      .where('user_id', '=', userId)
      .execute()
    return Promise.all(
      rows.map(async ({ organization_id, joined_at }) => ({
        ...(await organizationIn(view, organization_id)),
        joinedAt: joined_at,
      })),
    )
  }

  /** Those that wait for the person: what was sent to an address is theirs who have shown that the address is. */
  const invitationsOf = async (view: RealmView, { realm, email_key, email_verified }: UserRow) => {
    if (email_key === null || email_verified === 0) return []
    const rows = await db
      .selectFrom('invitations')
      .selectAll()
      .where('realm', '=', realm)
      .where('email_key', '=', email_key)
      .where('accepted_by', 'is', null)
      .execute()
    return Promise.all(
      rows.map(async ({ organization_id, created_at, expires_at }) => ({
        ...(await organizationIn(view, organization_id)),
        invitedAt: created_at,
        expiresAt: expires_at,
      })),
    )
  }

  const credentialsOf = (userId: string) =>
    db
      .selectFrom('credentials')
      .select(['id', 'type', 'label as userLabel', 'created_at as createdDate'])
      .where('user_id', '=', userId)
      .orderBy('created_at')
      .execute()

  /** In parts: how many there are is up to the user. */
  const eventsOf = async (realm: string, userId: string): Promise<AuditRecord[]> => {
    const records: AuditRecord[] = []
    for (let below = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = await longReads
        .selectFrom('audit_events')
        .selectAll()
        .where('realm', '=', realm)
        .where('actor', '=', userId)
        .where('category', '=', 'AUTHN')
        .where('id', '<', below)
        .orderBy('id', 'desc')
        .limit(eventsAtOnce)
        .execute()
      records.push(...(await readRecords(rows)))
      if (rows.length < eventsAtOnce) return records
      below = rows.at(-1)?.id ?? 0
    }
  }

  return async (view, user) => ({
    generatedAt: clock.now(),
    schema: exportSchemaName,
    realmId: user.realm,
    userId: user.id,
    profile: {
      username: user.username,
      email: user.email,
      enabled: user.enabled === 1,
      createdAt: user.created_at,
    },
    attributes: {
      ...(JSON.parse(user.attributes) as Attributes),
      ...(user.first_name === null ? {} : { firstName: [user.first_name] }),
      ...(user.last_name === null ? {} : { lastName: [user.last_name] }),
    },
    roles: await rolesOf(view, user.id),
    realmMemberships: [{ realmId: user.realm, joinedAt: user.created_at }],
    organizations: [...(await membershipsOf(view, user.id)), ...(await invitationsOf(view, user))],
    credentials: await credentialsOf(user.id),
    federatedLinks: [
      ...(await linkRecords(view, await links.ofUser(user.id))),
      ...(await accountsOf(view, user.id)),
    ],
    consents: await consentsOf(view, user.id),
    loginEvents: await eventsOf(user.realm, user.id),
  })
}
