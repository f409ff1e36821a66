/**
 * Where attributes of SCIM are kept. Names, address and state are fields of the user; the others are attributes of the user, so
 * that claims and templates can use them: texts under their SCIM names, lists of complex values as JSON, one text per value.
 */

import type { Attributes } from '#schemas/wire/records.ts'
import { invalidValue } from '../errors.ts'
import { type Complex, isComplex, type Resource, type Value } from '../schema/attribute.ts'
import { enterpriseSchema } from '../schema/user-schema.ts'
import { longestText } from '../values.ts'

const simple = [
  'displayName',
  'nickName',
  'profileUrl',
  'title',
  'userType',
  'preferredLanguage',
  'locale',
  'timezone',
] as const

const nameParts = ['formatted', 'middleName', 'honorificPrefix', 'honorificSuffix'] as const

const lists = [
  'phoneNumbers',
  'ims',
  'photos',
  'addresses',
  'entitlements',
  'roles',
  'x509Certificates',
] as const

const enterprise = [
  'employeeNumber',
  'costCenter',
  'organization',
  'division',
  'department',
] as const

const partKey = (part: string): string => `name.${part}`

/** The attributes of a user that SCIM writes. */
export const storedKeys: ReadonlySet<string> = new Set([
  ...simple,
  ...nameParts.map(partKey),
  ...lists,
  ...enterprise,
  'manager',
  'emails',
])

const textsOf = (name: string, values: readonly Value[]): string[] =>
  values.map((value) => {
    const text = JSON.stringify(value)
    if (text.length > longestText)
      throw invalidValue(`a value of ${name} has more than ${longestText} characters`)
    return text
  })

/** A text that an administrator gave stands for a value. */
const valueIn = (text: string): Complex => {
  try {
    const value: unknown = JSON.parse(text)
    return isComplex(value) ? value : { value: text }
  } catch {
    return { value: text }
  }
}

const listIn = (attributes: Attributes, name: string): readonly Complex[] =>
  (attributes[name] ?? []).map(valueIn)

/** The address of the user: the primary one, else the first of type work, else the first. */
const mainOf = (emails: readonly Complex[]): Complex | undefined =>
  emails.find((one) => one['primary'] === true) ??
  emails.find((one) => one['type'] === 'work') ??
  emails[0]

/** The address that the user has here is the truth, also where an administrator has changed it. */
export const emailsOf = (email: string | null, attributes: Attributes): readonly Complex[] => {
  const stored = listIn(attributes, 'emails')
  const main = mainOf(stored)
  if (email === null) return stored.filter((one) => one !== main)
  if (!main) return [{ value: email, type: 'work', primary: true }]
  return stored.map((one) => (one === main ? { ...one, value: email } : one))
}

/** A filter by addresses of type work also finds users whose one address came without a type: Entra ID matches by it. */
export const typedEmails = (emails: readonly Complex[]): readonly Complex[] => {
  const main = mainOf(emails)
  return emails.map((one) =>
    one === main && one['type'] === undefined ? { ...one, type: 'work' } : one,
  )
}

/** The user as PATCH sees it: what a search by the work address finds is what `emails[type eq "work"]` changes. */
export const withWorkAddress = (user: Resource): Resource => {
  const emails = (user['emails'] ?? []) as readonly Complex[]
  const isThere = emails.length === 0 || emails.some((one) => one['type'] === 'work')
  return isThere ? user : { ...user, emails: typedEmails(emails) }
}

/** What is shown of an address that came from elsewhere needs no attribute. */
const isUsual = ([first, ...others]: readonly Complex[]): boolean =>
  others.length === 0 &&
  first?.['type'] === 'work' &&
  first['primary'] === true &&
  Object.keys(first).length === 3

export const emailIn = (resource: Resource): string | null => {
  const main = mainOf((resource['emails'] ?? []) as readonly Complex[])
  const value = main?.['value']
  if (main && typeof value !== 'string') throw invalidValue('an email address needs a value')
  return (value as string | undefined) ?? null
}

/** What the attributes of a user say in SCIM. */
export const readAttributes = (attributes: Attributes): Resource => {
  const first = (name: string): string | undefined => attributes[name]?.[0]
  const texts = (names: readonly string[], keyOf = (name: string) => name): Complex =>
    Object.fromEntries(
      names.flatMap((name) => {
        const text = first(keyOf(name))
        return text === undefined ? [] : [[name, text]]
      }),
    )
  const manager = first('manager')
  const extension = {
    ...texts(enterprise),
    ...(manager === undefined ? {} : { manager: { value: manager } }),
  }
  const found = lists.flatMap((name) => {
    const list = listIn(attributes, name)
    return list.length > 0 ? [[name, list] as const] : []
  })
  return {
    name: texts(nameParts, partKey),
    ...texts(simple),
    ...Object.fromEntries(found),
    ...(Object.keys(extension).length > 0 ? { [enterpriseSchema.id]: extension } : {}),
  }
}

/** The attributes of a user after SCIM said what they are; those that SCIM does not know stay. */
export const writeAttributes = (before: Attributes, resource: Resource): Attributes => {
  const name = (resource['name'] ?? {}) as Complex
  const extension = (resource[enterpriseSchema.id] ?? {}) as Complex
  const manager = (extension['manager'] as Complex | undefined)?.['value']
  const emails = (resource['emails'] ?? []) as readonly Complex[]
  const given: readonly (readonly [string, Value])[] = [
    ...simple.map((one) => [one, resource[one]] as const),
    ...nameParts.map((one) => [partKey(one), name[one]] as const),
    ...enterprise.map((one) => [one, extension[one]] as const),
    ['manager', manager],
    ...lists.map((one) => [one, resource[one]] as const),
    ['emails', isUsual(emails) ? undefined : emails],
  ]
  const written = given.flatMap(([key, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return []
    return [[key, Array.isArray(value) ? textsOf(key, value) : [String(value)]] as const]
  })
  return {
    ...Object.fromEntries(Object.entries(before).filter(([key]) => !storedKeys.has(key))),
    ...Object.fromEntries(written),
  }
}
