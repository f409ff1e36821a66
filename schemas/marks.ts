/** Field marks: what a kind says about a field, on the field itself. There are no lists of paths anywhere. */

import Type, { type Static, type TObject, type TSchema } from 'typebox'
import type { Permission } from './access/permissions.ts'
import type { JsonSchema, OnDelete, RefMark, SecretMark } from './json-schema.ts'

/** A natural key: no control characters, not shaped like a UUID (`segment` also refuses `/`). */
export const name = (
  options: { format?: 'name' | 'segment' | 'child-name'; description?: string } = {},
) => Type.String({ minLength: 1, maxLength: 255, format: 'name', ...options })

/** The natural key of another document. */
export const ref = (
  kind: string,
  {
    onDelete = 'refuse',
    ...mark
  }: {
    onDelete?: OnDelete
    grants?: true
    needs?: Permission
    needsToRemove?: true
    sibling?: true
    default?: string
    description?: string
  } = {},
) => {
  const { description, default: fallback, ...rest } = mark
  const xref: RefMark = { kind, onDelete, ...rest }
  return Type.String({
    minLength: 1,
    'x-ref': xref,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(description ? { description } : {}),
  })
}

/** A value that can be written and is never returned. */
export const secret = (
  options: Partial<SecretMark> & { minLength?: number; format?: string; description?: string } = {},
) => {
  const { store = 'sealed', read = 'null', sentTo, made, ...rest } = options
  const mark: SecretMark = {
    store,
    read,
    ...(sentTo ? { sentTo } : {}),
    ...(made ? { made } : {}),
  }
  return Type.Optional(Type.String({ minLength: 1, ...rest, writeOnly: true, 'x-secret': mark }))
}

/** A list in which order and repetition mean nothing. */
export const setOf = <T extends TSchema>(items: T, options: { description?: string } = {}) =>
  Type.Array(items, { uniqueItems: true, default: [], ...options, 'x-set': true })

/** Made by the server; shown, never written. */
export const readOnly = <T extends TSchema>(schema: T) =>
  Type.Optional(Type.Unsafe<Static<T>>({ ...schema, readOnly: true }))

/** Set on create and never changed afterwards. */
export const immutable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ ...schema, 'x-immutable': true })

/** Part of the YAML form; over REST another route owns it, so a PUT leaves it as it is. */
export const yamlOnly = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ ...schema, 'x-only': 'yaml' })

/** A restriction: a REST PUT that leaves it out leaves it as it is, so that a client of the API that does not know it widens nothing. */
export const kept = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ ...schema, 'x-kept': true })

/** Read from elsewhere by the server while another field of the document is set: a plan leaves it as it is then. */
export const follows = <T extends TSchema>(field: string, schema: T): T =>
  // Not a copy: what makes a field optional is not among the members that a copy has.
  Object.assign(schema, { 'x-follows': field })

/** The fields of a document that follow another one, each with the field that it follows. */
export const followersOf = ({ properties = {} }: JsonSchema): [field: string, followed: string][] =>
  Object.entries(properties).flatMap(([field, schema]) => {
    const followed = schema['x-follows']
    return followed === undefined ? [] : [[field, followed]]
  })

/** Part of the REST form; YAML says it by nesting. */
export const restOnly = <T extends TSchema>(schema: T) =>
  Type.Optional(Type.Unsafe<Static<T>>({ ...schema, 'x-only': 'rest' }))

export const flag = (value: boolean, description: string) =>
  Type.Boolean({ default: value, description })

/** A number of seconds. */
export const seconds = (
  value: number,
  description: string,
  range: { minimum?: number; maximum?: number } = {},
) => Type.Integer({ minimum: 0, maximum: 315_360_000, ...range, default: value, description })

export const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  options: { default?: T[number]; description?: string } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })

/** Text that may be left out: unset reads as null. */
export const text = (description: string, options: { format?: string; maxLength?: number } = {}) =>
  Type.Optional(Type.String({ maxLength: 2000, ...options, description }))

/**
 * Values by name, whatever the name holds. Not `Type.Record(Type.String(), …)`: its pattern `^.*$` passes over names
 * with a line break (ECMA-262 §22.2.2.7), whose values nothing would check then.
 */
export const mapOf = <T extends TSchema>(
  values: T,
  options: Readonly<Record<string, unknown>> = {},
) =>
  Type.Unsafe<Record<string, Static<T>>>({
    type: 'object',
    additionalProperties: values,
    ...options,
  })

/** Free-form values by name, each a list of strings, as Keycloak's attributes are. */
export const attributes = (description: string) =>
  mapOf(Type.Array(Type.String({ maxLength: 4000 })), {
    default: {},
    description,
  })

export const id = () =>
  readOnly(Type.String({ format: 'uuid', description: 'Assigned by the service.' }))
export const realmId = () => readOnly(Type.String({ description: 'The realm it belongs to.' }))
export const createdAt = () =>
  readOnly(Type.Integer({ description: 'When it was made, in epoch milliseconds.' }))

/** An object that refuses unknown fields. An example tells what fits together, where a schema cannot. */
export const fields = <T extends Parameters<typeof Type.Object>[0]>(
  properties: T,
  options: { readonly examples?: readonly object[] } = {},
): TObject<T> => Type.Object(properties, { additionalProperties: false, ...options })
