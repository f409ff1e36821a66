/** The attributes of a user for one service provider: those of its mappers, or the plain ones where it has none. */

import { userProperties } from '#schemas/drivers/claim-mappers.ts'
import { attributeNameFormats, type SamlMapperId } from '#schemas/drivers/saml.ts'
import {
  SamlClientMapper,
  type SamlClientMapperDoc,
} from '#schemas/kinds/clients/saml-client-mapper.ts'
import { own } from '#schemas/own.ts'
import type { Storage } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { perView } from '#server/storage/documents/kept.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type HeldRoles, rolesOfUser } from '#server/tokens/access/roles.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import { element, type Template } from '#server/xml/index.ts'
import type { ServiceProvider } from '../service-provider.ts'

export interface Attribute {
  readonly name: string
  readonly friendlyName?: string | undefined
  readonly format: keyof typeof attributeNameFormats
  readonly values: readonly string[]
}

interface Source {
  readonly user: UserRow
  readonly config: Readonly<Record<string, string>>
  readonly roles: () => Promise<HeldRoles>
}

type Property = (typeof userProperties)[number]

const properties: Readonly<Record<Property, (user: UserRow) => string | null>> = {
  id: ({ id }) => id,
  username: ({ username }) => username,
  email: ({ email }) => email,
  emailVerified: ({ email_verified }) => String(email_verified === 1),
  firstName: ({ first_name }) => first_name,
  lastName: ({ last_name }) => last_name,
  createdTimestamp: ({ created_at }) => String(created_at),
  updatedAt: ({ updated_at }) => String(Math.floor(updated_at / 1000)),
}

const propertyOf = (user: UserRow, name: string | undefined): string[] => {
  const known = userProperties.find((one) => one === name)
  const value = known && properties[known](user)
  return value ? [value] : []
}

const mappers: Readonly<Record<SamlMapperId, (source: Source) => Promise<readonly string[]>>> = {
  'saml-user-attribute-mapper': async ({ user, config }) =>
    own(fieldsOf(user).attributes, config['user.attribute'] ?? '') ?? [],
  'saml-user-property-mapper': async ({ user, config }) =>
    propertyOf(user, config['user.attribute']),
  'saml-hardcode-attribute-mapper': async ({ config }) => [config['attribute.value'] ?? ''],
  'saml-role-list-mapper': async ({ roles }) => (await roles()).realm,
  'saml-group-membership-mapper': async ({ roles, config }) =>
    (await roles()).groups.map((path) =>
      config['full.path'] === 'false' ? path.slice(path.lastIndexOf('/') + 1) : path,
    ),
}

/** Lists are one attribute with several values; `single: "false"` makes each value an attribute, as Keycloak does. */
const split = (
  config: Source['config'],
  values: readonly string[],
): readonly (readonly string[])[] => {
  if (values.length === 0) return []
  return config['single'] === 'false' ? values.map((value) => [value]) : [values]
}

/** A name of the Basic format is an xs:Name (SAML Core §8.2.3), unlike `http://schemas.xmlsoap.org/…` and `First Name`. */
const xmlName = /^[\p{L}_:][\p{L}\p{M}\p{N}_:.·-]*$/u

const usualFormat = (name: string): Attribute['format'] => {
  if (xmlName.test(name)) return 'Basic'
  return URL.canParse(name) ? 'URI Reference' : 'Unspecified'
}

const formatOf = (config: Source['config']): Attribute['format'] => {
  const { 'attribute.nameformat': named, 'attribute.name': name = '' } = config
  return named === 'Basic' || named === 'URI Reference' || named === 'Unspecified'
    ? named
    : usualFormat(name)
}

/** Without mappers: what applications ask for, by the names that most of them take. */
const plain = (user: UserRow): Attribute[] =>
  (['username', 'email', 'firstName', 'lastName'] as const).flatMap((name) => {
    const values = propertyOf(user, name)
    return values.length === 0 ? [] : [{ name, format: 'Basic' as const, values }]
  })

const mappersByProvider = perView(async (view) =>
  Map.groupBy(await view.list(SamlClientMapper.kind), ({ parentId }) => parentId),
)

export const createAttributes =
  (storage: Pick<Storage, 'db'>) =>
  async ({ view }: Issuer, { id }: ServiceProvider, user: UserRow): Promise<Attribute[]> => {
    const documents = (await mappersByProvider(view)).get(id)
    if (!documents) return plain(user)
    let held: Promise<HeldRoles> | undefined
    const roles = () => (held ??= rolesOfUser(storage, view, user.id))
    const attributes: Attribute[] = []
    for (const document of documents) {
      const { protocolMapper, config } = contentOf<SamlClientMapperDoc>(document)
      const values = await mappers[protocolMapper]({ user, config, roles })
      for (const some of split(config, values))
        attributes.push({
          name: config['attribute.name'] ?? '',
          friendlyName: config['friendly.name'] || undefined,
          format: formatOf(config),
          values: some,
        })
    }
    return attributes
  }

/** XML 1.0 §2.2 cannot carry these; one odd value must not keep its user from signing in. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must be found
const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const writable = (value: string): string => value.toWellFormed().replace(unwritable, '\ufffd')

export type AttributesOf = ReturnType<typeof createAttributes>

/** Undefined where there is none: the schema wants at least one. */
export const attributeStatement = (attributes: readonly Attribute[]): Template | undefined =>
  attributes.length === 0
    ? undefined
    : element(
        'saml:AttributeStatement',
        {},
        attributes.map(({ name, friendlyName, format, values }) =>
          element(
            'saml:Attribute',
            { Name: name, NameFormat: attributeNameFormats[format], FriendlyName: friendlyName },
            values.map((value) => element('saml:AttributeValue', {}, writable(value))),
          ),
        ),
      )
