/** Documents of a realm: one as YAML, several as a table with the key and the fields that tell them apart. */

import { type Doc, isObject, type JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import type { RealmRecord } from '#schemas/wire/records.ts'
import { kindWord } from '../../../client/kind-names.ts'
import { printOut } from '../../streams.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { cellOf } from '../elements/values.ts'

export interface Row {
  readonly key: string
  readonly doc: Doc
}

/** What `iamctl get` was asked for. */
export type Found =
  | { readonly kinds: readonly { readonly kind: string; readonly doc: string }[] }
  | { readonly realms: readonly RealmRecord[] }
  | { readonly doc: Doc }
  | { readonly realm: string; readonly kind: Kind; readonly rows: readonly Row[] }

/** Beside the key. */
const mostColumns = 5

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** A field that says something in one cell; ids and times are there for programs. */
const isShort = (name: string, schema: JsonSchema, kind: Kind): boolean => {
  if (schema['x-secret'] || schema['x-only'] === 'yaml') return false
  if (name === kind.idField || /^(realmId|parentId|createdAt)$/.test(name)) return false
  const types = [schema.type ?? []].flat()
  if (types.includes('array')) return schema.items?.type === 'string'
  return types.some((type) => ['string', 'boolean', 'integer'].includes(type))
}

/** What differs from document to document comes first: a column that says the same everywhere tells little. */
const columnsOf = (kind: Kind, rows: readonly Row[]): string[] => {
  const own = new Set(kind.keyFields)
  const names = Object.entries(kind.spec.properties ?? {})
    .filter(([name, schema]) => !own.has(name) && isShort(name, schema, kind))
    .map(([name]) => name)
    .filter((name) => rows.some(({ doc }) => !isEmpty(doc[name])))
  const differs = (name: string): boolean =>
    new Set(rows.map(({ doc }) => cellOf(doc[name]))).size > 1
  const chosen = new Set([...names.filter(differs), ...names].slice(0, mostColumns))
  return names.filter((name) => chosen.has(name))
}

/** `redirectUris` as a heading. */
const words = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2')

const showDocuments = (kind: Kind, rows: readonly Row[]): void => {
  const columns = columnsOf(kind, rows)
  printTable(
    [kind.kind.replaceAll('-', ' '), ...columns.map(words)],
    rows.map(({ key, doc }) => [key, ...columns.map((name) => cellOf(doc[name]))]),
  )
}

/** Without what is not set: `-o yaml` has everything. */
const setOnes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(setOnes)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      inner === null ? [] : [[name, setOnes(inner)] as const],
    ),
  )
}

const showDocument = async (doc: Doc): Promise<void> => {
  const { yamlText } = await import('../../yaml/value.ts')
  printOut(yamlText(setOnes(doc)))
}

export const showFound = async (found: Found, call: { readonly quiet: boolean }): Promise<void> => {
  if ('kinds' in found)
    printTable(
      ['kind', 'what it is'],
      found.kinds.map(({ kind, doc }) => [kind, doc]),
    )
  else if ('realms' in found)
    printTable(
      ['realm', 'revision'],
      found.realms.map(({ realm, revision }) => [realm, String(revision)]),
    )
  else if ('doc' in found) await showDocument(found.doc)
  else if (found.rows.length === 0)
    note(call, `realm ${found.realm} has no ${kindWord(found.kind)}`)
  else showDocuments(found.kind, found.rows)
}
