/**
 * One golden plan: `desired.yaml` is a realm file; `actual.yaml` has the same shape, with what the server knows about
 * its documents under `meta`; without it the realm does not exist. `options.yaml` says how it is planned.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { LineCounter, parseDocument } from 'yaml'
import type { Place as SourcePlace } from '#cli/diagnostics.ts'
import type { SecretSource } from '#cli/load/loaded.ts'
import { type Actual, actualOf, actualOfNewRealm } from '#cli/planning/actual.ts'
import { placeKey } from '#cli/planning/names.ts'
import type { Prune, RealmPlan } from '#cli/planning/plan.ts'
import { type DesiredRealm, type PlanOptions, planRealm } from '#cli/planning/plan-realm.ts'
import { parseTarget } from '#cli/planning/target.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { contentHash } from '#schemas/normalize.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten, nest, withSecretFlags } from '#schemas/realm/realm-document.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import {
  type DocumentMeta,
  type DocumentOrigin,
  formatVersion,
  type Impact,
  type LastChange,
  type Place,
  type RealmExport,
} from '#schemas/wire/wire.ts'

/** By `kind/key`. */
type ByName<T> = Readonly<Record<string, T>>

interface Meta {
  readonly owners?: ByName<string | null>
  readonly origins?: ByName<DocumentOrigin>
  readonly protected?: readonly string[]
  readonly secrets?: ByName<readonly string[]>
  readonly changes?: ByName<LastChange>
  readonly deleted?: ByName<LastChange>
  readonly omittedSections?: readonly string[]
}

interface Options {
  readonly prune?: Prune
  readonly targets?: readonly string[]
  readonly takeOver?: boolean
  /** `kind/key#/pointer`. */
  readonly differingSecrets?: readonly string[]
  readonly orphaned?: readonly string[]
  /** Those that the export was asked for. */
  readonly sections?: readonly string[]
  readonly impacts?: readonly Impact[]
}

/** Of everything in `actual.yaml` that is not built in, unless its meta says otherwise. */
export const source = 'estate'

const place = (text: string): Place => {
  const found = parseTarget(text)
  if (!found) throw new Error(`"${text}" names no document`)
  return found
}

const byPlace = <T>(named: ByName<T> = {}): Map<string, T> =>
  new Map(
    Object.entries(named).map(([text, value]) => {
      const { kind, key } = place(text)
      return [placeKey(kind, key), value]
    }),
  )

const byKind = <T>(values: ReadonlyMap<string, T>): Record<string, Record<string, T>> => {
  const kinds: Record<string, Record<string, T>> = {}
  for (const [at, value] of values) {
    const [kind = '', key = ''] = at.split('\n')
    kinds[kind] = { ...kinds[kind], [key]: value }
  }
  return kinds
}

/** What the server would export: the built-in documents too, as they are in a new realm where nothing else is said. */
export const exportOf = (realm: Doc, meta: Meta = {}, revision = 7): RealmExport => {
  const entries = flatten(realm).entries.map(desiredOf)
  const named = new Set(entries.map(({ kind, key }) => placeKey(kind.kind, key)))
  const builtIn = new Set(seeds.map(({ kind, key }) => placeKey(kind.kind, key)))
  const documents = [
    ...entries.map(({ kind, key, body }) => ({ kind, key, body })),
    ...seeds
      .filter(({ kind, key }) => !named.has(placeKey(kind.kind, key)))
      .map(({ kind, key, doc }) => ({ kind, key, body: doc })),
  ]
  const owners = byPlace(meta.owners)
  const origins = byPlace(meta.origins)
  const stored = byPlace(meta.secrets)
  const changes = byPlace(meta.changes)
  const shielded = new Set(
    (meta.protected ?? []).map((text) => {
      const { kind, key } = place(text)
      return placeKey(kind, key)
    }),
  )
  const metas = documents.map(({ kind, key, body }): [string, DocumentMeta] => {
    const at = placeKey(kind.kind, key)
    const isBuiltIn = builtIn.has(at)
    const lastChange = changes.get(at)
    return [
      at,
      {
        hash: contentHash(body),
        origin: origins.get(at) ?? (isBuiltIn ? 'built-in' : 'declared'),
        owner: owners.has(at) ? (owners.get(at) ?? null) : isBuiltIn ? null : source,
        protected: shielded.has(at),
        updatedAt: 0,
        ...(lastChange ? { lastChange } : {}),
      },
    ]
  })
  return {
    ...nest(
      documents.map(({ kind, key, body }) => ({
        kind,
        key,
        value: withSecretFlags(kind, body, new Set(stored.get(placeKey(kind.kind, key)))),
      })),
    ),
    formatVersion,
    realm: String(realm['realm']),
    revision,
    meta: {
      sections: {},
      documents: byKind(new Map(metas)),
      deleted: byKind(byPlace(meta.deleted)),
      omittedSections: meta.omittedSections ?? [],
    },
  }
}

const readYaml = (file: string): Record<string, unknown> | null =>
  existsSync(file) ? (load(readFileSync(file, 'utf8')) as Record<string, unknown>) : null

/** The places of a file's values, as a loader would know them. */
const placesOf = (text: string): ((pointer: string) => SourcePlace | undefined) => {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, merge: true })
  return (pointer) => {
    const path = pointer
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined
    if (!node?.range) return undefined
    const { line, col } = lines.linePos(node.range[0])
    return { file: 'desired.yaml', line, column: col }
  }
}

const sourceOf = (value: unknown, pointer: string): SecretSource => {
  const parts = pointer.split('/').slice(1)
  const text = parts.reduce<unknown>(
    (inner, part) => (inner as Record<string, unknown> | undefined)?.[part],
    value,
  )
  const [, name] = /^\$\{env:(.+)\}$/.exec(String(text)) ?? []
  return name === undefined
    ? { from: 'literal', file: 'desired.yaml', pointer }
    : { from: 'env', name }
}

export interface Case {
  readonly value: Doc
  readonly actualValue: Doc | null
  readonly files: DesiredRealm
  readonly actual: Actual
  readonly options: PlanOptions
  plan(files?: DesiredRealm): RealmPlan
}

export const readCase = (folder: string): Case => {
  const text = readFileSync(join(folder, 'desired.yaml'), 'utf8')
  const value = load(text) as Doc
  const given: Options = readYaml(join(folder, 'options.yaml')) ?? {}
  const written = readYaml(join(folder, 'actual.yaml'))
  const { meta, revision, ...actualValue } = written ?? {}
  const actual = written
    ? actualOf(exportOf(actualValue, meta as Meta, revision as number | undefined), given.sections)
    : actualOfNewRealm(String(value['realm']))
  const { entries, listings } = flatten(value)
  const files = { desired: entries.map(desiredOf), listings }
  const options: PlanOptions = {
    source,
    prune: given.prune ?? 'owned',
    targets: (given.targets ?? []).map(place),
    takeOver: given.takeOver ?? false,
    differingSecrets: (given.differingSecrets ?? []).map((one) => {
      const [at = '', pointer = ''] = one.split('#')
      return { ...place(at), pointer }
    }),
    orphaned: (given.orphaned ?? []).map(place),
    placeOf: placesOf(text),
    secretSourceOf: (pointer) => sourceOf(value, pointer),
  }
  return {
    value,
    actualValue: written ? actualValue : null,
    files,
    actual,
    options,
    plan: (from = files) => ({
      ...planRealm(from, actual, options),
      impacts: given.impacts ?? [],
    }),
  }
}
