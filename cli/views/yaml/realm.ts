/** A realm as the YAML that a person keeps in Git: what an export holds, without ids, owners and times. */

import { join } from 'node:path'
import { Document, isMap, visit } from 'yaml'
import type { Kind } from '#schemas/kind.ts'
import { own } from '#schemas/own.ts'
import { flatten, nest, sectionKinds, withoutSecretFlags } from '#schemas/realm/realm-document.ts'
import type { RealmExport } from '#schemas/wire/wire.ts'
import { documentText } from '../../document-text.ts'
import { escapeText } from '../../load/variables/template.ts'
import type { ExportView } from '../../transfer/export.ts'
import { printOut } from '../streams.ts'

interface Row {
  readonly kind: Kind
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
  /** Pointers of secrets that the server has. */
  readonly stored: readonly string[]
}

const placeOf = ({ kind, key }: Pick<Row, 'kind' | 'key'>): string => `${kind.kind}\n${key}`

const rowsOf = (exported: RealmExport): Row[] =>
  flatten(exported).entries.map(({ kind, key, value }) => {
    const { doc, stored } = withoutSecretFlags(kind, value)
    const meta = own(exported.meta.documents[kind.kind] ?? {}, key)
    return { kind, key, value: meta?.protected ? { ...doc, protected: true } : doc, stored }
  })

const segmentsOf = (pointer: string): (string | number)[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))

const note = (stored: readonly string[]): string =>
  ` Set on the server, unchanged unless given here: ${stored
    .map((pointer) => pointer.slice(1).replaceAll('/', '.'))
    .join(', ')}`

const textOf = (
  realm: string,
  sections: Readonly<Record<string, unknown>>,
  rows: Row[],
): string => {
  const value = { realm, ...sections }
  const document = new Document(value, { aliasDuplicateObjects: false })
  const byPlace = new Map(rows.map((row) => [placeOf(row), row]))
  for (const entry of flatten(value).entries) {
    const stored = byPlace.get(placeOf(entry))?.stored ?? []
    const node = stored.length > 0 ? document.getIn(segmentsOf(entry.pointer), true) : undefined
    if (isMap(node)) node.commentBefore = note(stored)
  }
  // What looks like a reference is none: it is what the server holds.
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string') node.value = escapeText(node.value)
    },
  })
  return documentText(document, { lineWidth: 100, flowCollectionPadding: true })
}

export const realmText = (exported: RealmExport): string => {
  const rows = rowsOf(exported)
  return textOf(exported.realm, nest(rows), rows)
}

/** One text per section, by the name of its file. A realm that differs from a new one in nothing is named all the same, so that it can be applied. */
export const sectionTexts = (exported: RealmExport): ReadonlyMap<string, string> => {
  const rows = rowsOf(exported)
  const sections = nest(rows)
  if (rows.length === 0) return new Map([['realm.yaml', textOf(exported.realm, {}, rows)]])
  return new Map(
    sectionKinds
      .filter(({ section }) => section in sections)
      .map(({ section }) => [
        `${section}.yaml`,
        textOf(exported.realm, { [section]: sections[section] }, rows),
      ]),
  )
}

export const yamlExport: ExportView = {
  isBackup: false,
  print: (exported) => printOut(realmText(exported)),
  files: (exported, split) =>
    split
      ? new Map([...sectionTexts(exported)].map(([name, one]) => [join(exported.realm, name), one]))
      : new Map([[`${exported.realm}.yaml`, realmText(exported)]]),
}
