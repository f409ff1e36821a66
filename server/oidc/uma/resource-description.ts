/**
 * A resource as a resource server describes it (UMA 2.0 Federated Authorization §3.1), with the additions that clients of
 * Keycloak send: `uris`, `owner`, `ownerManagedAccess`, `attributes`, and scopes as objects. `description` and `icon_uri`
 * are kept among the attributes.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { ResourceFields } from '#server/authz/registration.ts'

type NamedScope = string | { readonly name: string; readonly id?: string }

export interface ResourceDescription {
  readonly _id?: string
  readonly name?: string
  readonly displayName?: string
  readonly type?: string
  readonly uri?: string
  readonly uris?: readonly string[]
  readonly resource_scopes?: readonly NamedScope[]
  readonly scopes?: readonly NamedScope[]
  readonly owner?: string | { readonly id?: string; readonly name?: string }
  readonly ownerManagedAccess?: boolean
  readonly attributes?: Readonly<Record<string, readonly string[]>>
  readonly description?: string
  readonly icon_uri?: string
}

const text: JsonSchema = { type: 'string', maxLength: 2000 }
const name: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 }

const scopes: JsonSchema = {
  type: 'array',
  maxItems: 1000,
  items: {
    anyOf: [
      name,
      {
        type: 'object',
        properties: { name, id: text, displayName: text, iconUri: text },
        required: ['name'],
        additionalProperties: false,
      },
    ],
  },
}

export const resourceSchema: JsonSchema = {
  title: 'uma-resource',
  type: 'object',
  properties: {
    _id: { ...text, description: 'Ignored; the address names the resource.' },
    name: { ...name, description: 'Made where it is left out.' },
    displayName: text,
    type: text,
    uri: text,
    uris: { type: 'array', maxItems: 1000, items: text },
    resource_scopes: scopes,
    scopes: { ...scopes, description: 'Another name of resource_scopes.' },
    owner: {
      anyOf: [
        name,
        {
          type: 'object',
          properties: { id: name, name },
          additionalProperties: false,
        },
      ],
      description: 'The user it belongs to, by id or username; the client where it is left out.',
    },
    ownerManagedAccess: { type: 'boolean' },
    attributes: {
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string', maxLength: 4000 } },
    },
    description: text,
    icon_uri: text,
  },
  additionalProperties: false,
}

/** Members of the standard that our resources keep among their attributes. */
const inAttributes = ['description', 'icon_uri'] as const

const nameOf = (scope: NamedScope): string => (typeof scope === 'string' ? scope : scope.name)

export const ownerIn = ({ owner }: ResourceDescription): string | undefined =>
  typeof owner === 'object' ? (owner.id ?? owner.name) : owner

/** The owner is the id of a user, found by the caller; the name is that of a description without one (§3.1). */
export const fieldsIn = (
  given: ResourceDescription,
  owner: string | undefined,
  unnamed: string,
): ResourceFields => {
  const { displayName, type, uri, uris = [], resource_scopes = given.scopes ?? [] } = given
  const kept = inAttributes.flatMap((member) => {
    const value = given[member]
    return value === undefined ? [] : [[member, [value]]]
  })
  return {
    name: given.name ?? unnamed,
    ...(displayName === undefined ? {} : { displayName }),
    ...(type === undefined ? {} : { type }),
    uris: [...new Set([...(uri === undefined ? [] : [uri]), ...uris])],
    scopes: [...new Set(resource_scopes.map(nameOf))],
    ...(owner === undefined ? {} : { owner }),
    ownerManagedAccess: given.ownerManagedAccess ?? false,
    attributes: {
      ...Object.fromEntries(
        Object.entries(given.attributes ?? {}).map(([key, values]) => [key, [...values]]),
      ),
      ...Object.fromEntries(kept),
    },
  }
}

export const describedResource = ({ id, doc }: Resource, clientId: string) => {
  const { attributes, scopes: names, owner, displayName, type } = doc
  const told = inAttributes.flatMap((member) => {
    const [value] = attributes[member] ?? []
    return value === undefined ? [] : [[member, value]]
  })
  return {
    _id: id,
    name: doc.name,
    ...(displayName ? { displayName } : {}),
    ...(type ? { type } : {}),
    uris: doc.uris,
    resource_scopes: names,
    scopes: names.map((one) => ({ name: one })),
    owner: owner ? { id: owner } : { name: clientId },
    ownerManagedAccess: doc.ownerManagedAccess,
    attributes,
    ...Object.fromEntries(told),
  }
}
