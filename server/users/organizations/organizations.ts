/**
 * The organizations that users are members of, and those whose people they are by their mail domain. Only what is known on
 * both sides counts: a domain that is verified, of an organization that is enabled, and an address that is verified.
 */

import { domainToASCII } from 'node:url'
import { Organization, type OrganizationDoc } from '#schemas/kinds/users/organization.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { perDocument } from '#server/storage/documents/kept.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

export interface OrganizationRecord {
  readonly id: string
  readonly alias: string
  readonly name: string
}

export interface OrganizationContent extends OrganizationRecord {
  readonly doc: OrganizationDoc
}

const contentIn = (document: StoredDocument): OrganizationContent => {
  const doc = contentOf<OrganizationDoc>(document)
  return { id: document.id, alias: doc.alias, name: doc.name ?? doc.alias, doc }
}

const recordOf = ({ id, alias, name }: OrganizationContent): OrganizationRecord => ({
  id,
  alias,
  name,
})

/** Undefined where it is gone or not enabled. */
export const openOrganization = async (
  view: RealmView,
  id: string,
): Promise<OrganizationContent | undefined> => {
  const document = await view.byId(Organization.kind, id)
  const content = document && contentIn(document)
  return content?.doc.enabled ? content : undefined
}

/** By its alias, as documents refer to it. */
export const openOrganizationNamed = async (
  view: RealmView,
  alias: string,
): Promise<OrganizationContent | undefined> => {
  const document = await view.get(Organization.kind, alias)
  return document && openOrganization(view, document.id)
}

const byName = (a: OrganizationRecord, b: OrganizationRecord): number =>
  a.name.localeCompare(b.name)

const membershipsOf = preparedQuery('memberships', (db, { userId }: { userId: string }) =>
  db.selectFrom('organization_members').select('organization_id').where('user_id', '=', userId),
)

/** Those that are enabled, by name. Nothing is read where the realm has none. */
export const organizationsOf = async (
  { db }: Pick<Storage, 'db'>,
  view: RealmView,
  userId: string,
): Promise<OrganizationRecord[]> => {
  if ((await view.list(Organization.kind)).length === 0) return []
  const rows = await membershipsOf(db, { userId })
  const found = await Promise.all(
    rows.map(({ organization_id }) => openOrganization(view, organization_id)),
  )
  return found.flatMap((one) => (one ? [recordOf(one)] : [])).sort(byName)
}

/** As it is compared: `XN--` or letters, upper or lower case, are one domain (RFC 5890). */
const domainKey = (name: string): string => domainToASCII(name.replace(/\.$/, '')).toLowerCase()

/** Kept, since signing in looks at the domains of every organization. */
const verifiedDomains = perDocument((document): readonly string[] => {
  const { doc } = contentIn(document)
  return doc.enabled
    ? doc.domains.flatMap(({ name, verified }) => (verified ? [domainKey(name)] : []))
    : []
})

const domainOf = (address: string): string => domainKey(address.slice(address.lastIndexOf('@') + 1))

const mailDomain = ({ email_key, email_verified }: UserRow): string =>
  email_verified === 1 && email_key !== null ? domainOf(email_key) : ''

/** Whether an address lies in a verified domain of the organization. */
export const isOfDomain = ({ doc }: OrganizationContent, address: string): boolean =>
  address.includes('@') &&
  doc.domains.some(({ name, verified }) => verified && domainKey(name) === domainOf(address))

const ofDomain = async (view: RealmView, domain: string): Promise<OrganizationRecord[]> => {
  if (domain === '') return []
  const all = await view.list(Organization.kind)
  return all
    .filter((document) => verifiedDomains(document).includes(domain))
    .map((document) => recordOf(contentIn(document)))
    .sort(byName)
}

/** Organizations of the user's mail domain, member or not. Memberships of a managed user come from a file. */
export const organizationsByDomain = async (
  view: RealmView,
  user: UserRow,
): Promise<OrganizationRecord[]> => (user.managed === 1 ? [] : ofDomain(view, mailDomain(user)))

/** Organizations of the domain of an address, whether or not a user has it: it proves nothing about the person. */
export const organizationsOfAddress = async (
  view: RealmView,
  address: string,
): Promise<OrganizationRecord[]> => (address.includes('@') ? ofDomain(view, domainOf(address)) : [])
