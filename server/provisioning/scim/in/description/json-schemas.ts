/** SCIM schemas as JSON Schema, for the API description: made from the attributes, so that it says what is really taken. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { errorSchema } from '../errors.ts'
import { searchSchema } from '../paging.ts'
import { patchSchema } from '../patch/operations.ts'
import { type Attribute, ownAttributes, type ResourceType } from '../schema/attribute.ts'

const simpleTypes: Readonly<Partial<Record<Attribute['type'], string>>> = {
  boolean: 'boolean',
  integer: 'integer',
}

const oneOf = ({ type, description, subAttributes = [] }: Attribute): JsonSchema =>
  type === 'complex'
    ? { type: 'object', description, properties: propertiesOf(subAttributes) }
    : { type: simpleTypes[type] ?? 'string', description }

const schemaOf = (attribute: Attribute): JsonSchema => {
  const { multiValued, description, mutability } = attribute
  return {
    ...(multiValued ? { type: 'array', description, items: oneOf(attribute) } : oneOf(attribute)),
    ...(mutability === 'readOnly' ? { readOnly: true } : {}),
    ...(mutability === 'writeOnly' ? { writeOnly: true } : {}),
  }
}

/** Readers of API descriptions take a property of the name `$ref` for a reference, so it is left out. */
const propertiesOf = (attributes: readonly Attribute[]): Record<string, JsonSchema> =>
  Object.fromEntries(
    attributes.filter(({ name }) => name !== '$ref').map((one) => [one.name, schemaOf(one)]),
  )

/** A body has the schemas and what is required; attributes that are not here are ignored. */
export const resourceSchema = (type: ResourceType): JsonSchema => {
  const { schemas, ...others } = propertiesOf(ownAttributes(type))
  const { readOnly: _, ...stated } = schemas ?? {}
  const required = type.core.attributes.filter(
    ({ required: isRequired, type: kind }) => isRequired && kind !== 'boolean',
  )
  return {
    title: `scim-${type.name.toLowerCase()}`,
    type: 'object',
    properties: {
      schemas: { ...stated, contains: { const: type.core.id } },
      ...others,
      ...Object.fromEntries(
        type.extensions.map(({ id, description, attributes }) => [
          id,
          { type: 'object', description, properties: propertiesOf(attributes) },
        ]),
      ),
    },
    required: ['schemas', ...required.map(({ name }) => name)],
  }
}

const naming = (schema: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  contains: { const: schema },
})

const text = (description: string): JsonSchema => ({ type: 'string', description })
const number = (description: string): JsonSchema => ({ type: 'integer', description })

export const listSchema = (resources: JsonSchema, name: string): JsonSchema => ({
  title: `scim-${name}-list`,
  type: 'object',
  properties: {
    schemas: { type: 'array', items: { type: 'string' } },
    totalResults: number('How many there are in all.'),
    itemsPerPage: number('How many this response has.'),
    startIndex: number('The number of the first one, from 1.'),
    nextCursor: text('The cursor of the next page (RFC 9865).'),
    Resources: { type: 'array', items: resources },
  },
  required: ['schemas', 'totalResults', 'itemsPerPage', 'Resources'],
})

export const refusalSchema: JsonSchema = {
  title: 'scim-error',
  type: 'object',
  properties: {
    schemas: { type: 'array', items: { type: 'string', enum: [errorSchema] } },
    status: text('The HTTP status, as a text.'),
    scimType: text('What is wrong (RFC 7644 §3.12).'),
    detail: text('The same for people.'),
  },
  required: ['schemas', 'status', 'detail'],
}

export const patchBody: JsonSchema = {
  title: 'scim-patch',
  type: 'object',
  properties: {
    schemas: naming(patchSchema),
    Operations: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          op: text('add, replace or remove, in any case.'),
          path: text('The attribute; without it the value names attributes.'),
          value: { description: 'The new value.' },
        },
        required: ['op'],
      },
    },
  },
  required: ['schemas', 'Operations'],
}

const shownAttributes = {
  attributes: text('Attributes that the response has, with commas between them.'),
  excludedAttributes: text('Attributes that the response leaves out.'),
}

export const shownQuery: JsonSchema = { type: 'object', properties: shownAttributes }

/** What lists are filtered by and sorted by. */
export interface SearchedBy {
  readonly filter: string
  readonly sortBy: string
}

export const searchedBy = ({ searched, unsorted }: ResourceType): SearchedBy => ({
  filter: searched,
  sortBy: ['any attribute that lists can be filtered by', ...unsorted].join(', but '),
})

const pageParameters = ({ filter, sortBy }: SearchedBy) => ({
  filter: text(
    `RFC 7644 §3.4.2.2, of 20 terms at most, on ${filter}. What is no attribute gets 400 invalidFilter.`,
  ),
  sortBy: text(`By ${sortBy}. What is no attribute gets 400 invalidPath.`),
  sortOrder: text('ascending or descending.'),
  startIndex: number('The number of the first result, from 1.'),
  count: number('How many results at most; 200 are the most.'),
  cursor: text('Empty, or the nextCursor of the page before (RFC 9865).'),
})

export const listQuery = (by: SearchedBy): JsonSchema => ({
  type: 'object',
  properties: { ...pageParameters(by), ...shownAttributes },
})

const names = (description: string): JsonSchema => ({
  type: 'array',
  description,
  items: { type: 'string' },
})

export const searchBody = (name: string, by: SearchedBy): JsonSchema => ({
  title: `scim-${name}-search`,
  type: 'object',
  properties: {
    schemas: naming(searchSchema),
    ...pageParameters(by),
    attributes: names('Attributes that the response has.'),
    excludedAttributes: names('Attributes that the response leaves out.'),
  },
  required: ['schemas'],
})
