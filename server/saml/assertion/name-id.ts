/** The NameID by which a service provider knows a user (SAML Core §8.3). */

import { type NameIdFormat, nameIdFormats } from '#schemas/drivers/saml.ts'
import { upstreamIssuer } from '#server/broker/sessions/upstream-sessions.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomBytes } from '#server/platform/random.ts'
import { nameTold, told } from '#server/sessions/saml-sessions.ts'
import type { FoundSession } from '#server/sessions/sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Subjects } from '#server/tokens/subject.ts'
import { element, type Template, type XmlElement } from '#server/xml/index.ts'
import { entityIdOf } from '../addresses.ts'
import { SamlStatusError } from '../errors.ts'
import type { ServiceProvider } from '../service-provider.ts'
import type { SsoRequest } from '../sso/sso-request.ts'

export interface NameId {
  readonly format: NameIdFormat
  readonly value: string
  /** What remembers a persistent one that is new. */
  readonly statements: readonly Statement[]
}

/**
 * The address that the realm vouches for: a verified one, or that of a managed user, who cannot change it. Any other may
 * be the address of another person, whose account at the service provider it would open.
 */
const vouchedAddress = ({ email, email_verified, managed }: UserRow): string | null => {
  if (email && email_verified === 0 && managed === 0)
    throw new SamlStatusError(
      'InvalidNameIDPolicy',
      'the email address of the user is not verified',
    )
  return email
}

/** What is known of a user at a service provider. */
export interface KnownThere {
  /** The persistent name. */
  readonly persistent: string | null
  /** What it was told of the session (`told` of server/sessions). */
  readonly told: string | null
  /** The identity provider that the session last came from: its entity ID or issuer. */
  readonly authority: string | null
}

const nothingKnown: KnownThere = { persistent: null, told: null, authority: null }

/** In one query: on PostgreSQL each is a round trip. */
const readKnown = preparedQuery(
  'saml-known-there',
  (db, { clientId, userId, sid }: { clientId: string; userId: string; sid: string }) =>
    db.selectNoFrom((eb) => [
      eb
        .selectFrom('saml_name_ids')
        .select('value')
        .where('client_id', '=', clientId)
        .where('user_id', '=', userId)
        .as('persistent'),
      told(eb, { sid, clientId }).as('told'),
      upstreamIssuer(eb, sid).as('authority'),
    ]),
)

export const createNameIds = ({
  storage: { db },
  clock,
  subjects,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly subjects: Pick<Subjects, 'persistentName'>
}) => {
  const knownThere = async (
    provider: ServiceProvider,
    { user, session }: FoundSession,
  ): Promise<KnownThere> => {
    const [known] = await readKnown(db, {
      clientId: provider.id,
      userId: user.id,
      sid: session.sid,
    })
    return known ?? nothingKnown
  }

  /** Stored at first use: it stays the same when the service provider changes its entityID. */
  const persistent = async (
    issuer: Issuer,
    provider: ServiceProvider,
    user: UserRow,
    allowCreate: boolean,
    { persistent: known }: KnownThere,
  ): Promise<NameId> => {
    if (known !== null) return { format: 'persistent', value: known, statements: [] }
    if (!allowCreate)
      throw new SamlStatusError(
        'InvalidNameIDPolicy',
        'the user has no persistent NameID there yet',
      )
    const value = await subjects.persistentName(issuer.view, provider.entityId, user)
    const row = {
      client_id: provider.id,
      user_id: user.id,
      realm: issuer.name,
      value,
      created_at: clock.now(),
    }
    const insert = db
      .insertInto('saml_name_ids')
      .values(row)
      .onConflict((conflict) => conflict.columns(['client_id', 'user_id']).doNothing())
    return { format: 'persistent', value, statements: [statement(insert)] }
  }

  const plain = (format: NameIdFormat, value: string | null): NameId => {
    if (!value)
      throw new SamlStatusError(
        'InvalidNameIDPolicy',
        `the user has nothing for the format ${format}`,
      )
    return { format, value, statements: [] }
  }

  const nameIdFor = async (
    issuer: Issuer,
    provider: ServiceProvider,
    user: UserRow,
    { format, allowCreate }: SsoRequest['nameId'],
    known: KnownThere,
  ): Promise<NameId> => {
    switch (format) {
      case 'persistent':
        return persistent(issuer, provider, user, allowCreate, known)
      case 'transient':
        // The same in the whole session, so that each place of the service provider can name it in a logout.
        return plain(format, nameTold(known.told, format) ?? `_${randomBytes(20).toString('hex')}`)
      case 'email':
        return plain(format, vouchedAddress(user))
      case 'unspecified':
        return plain(format, user.username)
    }
  }

  return {
    knownThere,
    nameIdFor,
    /** Whether the user is the one that a request names. */
    isSubject: async (
      issuer: Issuer,
      provider: ServiceProvider,
      found: FoundSession,
      { format, value }: NonNullable<SsoRequest['subject']>,
    ): Promise<boolean> => {
      try {
        const known = await knownThere(provider, found)
        const asked = { format, allowCreate: false }
        const own = await nameIdFor(issuer, provider, found.user, asked, known)
        return own.value === value
      } catch (error) {
        if (error instanceof SamlStatusError) return false
        throw error
      }
    },
  }
}

export type NameIds = ReturnType<typeof createNameIds>

/** Whether a NameID of a service provider is a name that another party gave (SAML Core §2.2.2). */
export const isOfOthers = (
  issuer: Issuer,
  { entityId }: ServiceProvider,
  { attributes: { NameQualifier, SPNameQualifier } }: XmlElement,
): boolean =>
  (NameQualifier !== undefined && NameQualifier !== entityIdOf(issuer)) ||
  (SPNameQualifier !== undefined && SPNameQualifier !== entityId)

export const nameIdElement = (
  issuer: Issuer,
  { entityId }: ServiceProvider,
  { format, value }: Pick<NameId, 'format' | 'value'>,
): Template =>
  element(
    'saml:NameID',
    {
      Format: nameIdFormats[format],
      // A name that is good for one pair alone says which (SAML Core §8.3.7, §8.3.8).
      ...(format === 'persistent' || format === 'transient'
        ? { NameQualifier: entityIdOf(issuer), SPNameQualifier: entityId }
        : {}),
    },
    value,
  )
