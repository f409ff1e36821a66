/** From the argument of `iamctl explain`, such as `client.redirectUris`, to its schema. */

import { kindSchema, realmSchema } from '#schemas/editor/editor-schemas.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { own } from '#schemas/own.ts'
import { estateSchema } from '#schemas/realm/estate.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { propertySchema } from '#schemas/walk.ts'
import { findKind, kindNames } from '../client/kind-names.ts'
import { CommandError, exitCodes } from '../exit.ts'

export interface Subject {
  /** As it is written in full: `client.redirectUris`. */
  readonly path: string
  readonly schema: JsonSchema
  /** The kind that it is, or is a field of; null of the estate and of the realm as a whole. */
  readonly kind: Kind | null
  /** The names that lead from the kind to the field; none of the kind itself. */
  readonly fields: readonly string[]
  readonly isRequired: boolean
}

/** What is no kind and can be asked about all the same. */
const wholes: Readonly<Record<string, () => JsonSchema>> = {
  realm: realmSchema,
  estate: () => estateSchema,
}

const rootOf = (word: string): Subject => {
  const whole = own(wholes, word)
  if (whole) return { path: word, schema: whole(), kind: null, fields: [], isRequired: false }
  const meant = nearest(word, [...Object.keys(wholes), ...kindNames()])
  if (meant !== undefined && Object.hasOwn(wholes, meant))
    throw new CommandError(exitCodes.error, `there is no kind "${word}"`, {
      hint: `did you mean "${meant}"?`,
    })
  return ofKind(findKind(word))
}

const ofKind = (kind: Kind, path: string = kind.kind): Subject => ({
  path,
  schema: kindSchema(kind),
  kind,
  fields: [],
  isRequired: false,
})

/** The kind whose documents a field holds: a section of the realm, or of a parent's entry. */
export const kindBelow = ({ path, kind, fields }: Subject, name: string): Kind | undefined => {
  if (fields.length > 0 || path === 'estate') return undefined
  if (kind === null) return sectionKinds.find(({ section }) => section === name)
  return childrenOf(kind).find(({ section }) => section === name)
}

/** Lists are stepped into without a word. */
export const innermost = (schema: JsonSchema): JsonSchema =>
  schema.items === undefined ? schema : innermost(schema.items)

/** Also explains fields that only the server writes. */
const schemaOf = ({ kind, fields, schema }: Subject, name: string): JsonSchema | undefined =>
  propertySchema(innermost(schema), name) ??
  (fields.length === 0 ? own(kind?.spec.properties ?? {}, name) : undefined)

const step = (from: Subject, name: string): Subject => {
  const path = `${from.path}.${name}`
  const below = kindBelow(from, name)
  if (below) return ofKind(below, path)
  const schema = schemaOf(from, name)
  const owner = innermost(from.schema)
  if (schema)
    return {
      path,
      schema,
      kind: from.kind,
      fields: [...from.fields, name],
      isRequired: owner.required?.includes(name) === true,
    }
  const known = Object.keys(owner.properties ?? {})
  const meant = nearest(name, known)
  throw new CommandError(exitCodes.error, `${from.path} has no field "${name}"`, {
    hint:
      meant === undefined
        ? known.length === 0
          ? `${from.path} has no fields`
          : `its fields are ${known.join(', ')}`
        : `did you mean "${meant}"?`,
  })
}

/** `client.redirectUris`, and as messages write it: `client.redirectUris[0]`. */
export const findSubject = (words: string): Subject => {
  const [first = '', ...names] = words
    .replaceAll(/\[\d*\]/g, '')
    .split('.')
    .filter((name) => name !== '')
  return names.reduce(step, rootOf(first))
}
