/** The part of JSON Schema 2020-12 that kinds use, with our marks. Views are derived on this plain form. */

import type { TSchema } from 'typebox'
import type { Permission } from './access/permissions.ts'

export type OnDelete = 'refuse' | 'cascade' | 'detach'

export interface RefMark {
  /** Kind of the document that the value names by its natural key. */
  readonly kind: string
  /** What happens to the document that holds the reference when the named one is deleted. */
  readonly onDelete: OnDelete
  /** The value is the name of a document below the same parent, without the parent's key. */
  readonly sibling?: true
  /** The reference grants the permissions of the named role: only a caller who holds them may write it. */
  readonly grants?: true
  /** The permission that adding it needs besides that of the document. */
  readonly needs?: Permission
  /** Removing it needs that permission too. */
  readonly needsToRemove?: true
}

export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly oneOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly format?: string
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly description?: string
  readonly examples?: readonly object[]
  readonly 'x-ref'?: RefMark
  readonly 'x-secret'?: SecretMark
  readonly 'x-set'?: true
  readonly 'x-immutable'?: true
  /** Other spellings of a value, by the one that is stored. */
  readonly 'x-alias'?: Readonly<Record<string, string>>
  /** Of an object: reads show members that are not set as null, which means inherited. */
  readonly 'x-show-unset'?: true
  readonly 'x-only'?: 'yaml' | 'rest'
  /** While that other field of the document is set, the server reads this one from elsewhere: a plan leaves it as it is. */
  readonly 'x-follows'?: string
  /** A REST PUT without it leaves it as it is. */
  readonly 'x-kept'?: true
  /** What a handler checks itself, for the API description alone. */
  readonly 'x-described'?: JsonSchema
  readonly [keyword: string]: unknown
}

/** A TypeBox schema as the plain JSON Schema that it is: its type states precisely what `JsonSchema` states loosely. */
export const jsonSchemaOf = (schema: TSchema): JsonSchema => schema as unknown as JsonSchema

export interface SecretMark {
  /**
   * `sealed` can be opened again; `verify` is only ever compared, so a keyed hash is enough; `initial` is used
   * when the document is made, kept nowhere, and ignored afterwards.
   */
  readonly store: 'sealed' | 'verify' | 'initial'
  /** Whether reads carry the field as null with `<field>Set` beside it, or not at all. */
  readonly read: 'null' | 'absent'
  /** Pointers of the fields that say where it is sent: it does not follow them elsewhere unless it is given again. */
  readonly sentTo?: readonly string[]
  /** One is made where a new document brings none, and told once. */
  readonly made?: true
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A document's value: what a person writes in YAML, without ids, times and owners. */
export type Doc = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Escapes one segment of a JSON pointer (RFC 6901 §3). */
export const pointerSegment = (segment: string | number): string => {
  const text = String(segment)
  return /[~/]/.test(text) ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text
}
