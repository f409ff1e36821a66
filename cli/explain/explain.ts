/** All that the registry knows about a kind or a field, as a value: what `iamctl explain` shows. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { kinds } from '#schemas/registry.ts'
import { type Choice, choicesOf } from './choices.ts'
import { findSubject, innermost, kindBelow, type Subject } from './subject.ts'
import { limitWords, markWords, typeWords } from './words.ts'

export interface FieldSummary {
  readonly name: string
  readonly type: string
  readonly required: boolean
  /** Undefined where it has none. */
  readonly default?: unknown
  readonly doc: string
}

export interface KindFacts {
  /** Its path in a file: `clients`, or `clients[].roles`. */
  readonly section: string
  readonly key: string
  readonly permissions: { readonly read: string; readonly write: string }
  readonly pruned: boolean
  readonly example?: object
}

export interface Explanation {
  readonly path: string
  readonly type: string
  readonly doc: string
  readonly required: boolean
  readonly default?: unknown
  readonly limits: readonly string[]
  readonly marks: readonly string[]
  /** The fields of documents that name documents of this kind: `group.roles`. */
  readonly referencedBy: readonly string[]
  readonly kind: KindFacts | null
  readonly fields: readonly FieldSummary[]
  /** Values or settings that the field takes, where its type does not tell them. */
  readonly choices: readonly Choice[]
}

const summaryOf = (name: string, schema: JsonSchema, required: boolean): FieldSummary => ({
  name,
  type: typeWords(schema),
  required,
  ...('default' in schema ? { default: schema.default } : {}),
  doc: schema.description ?? '',
})

/** Marks a field that contains documents of a kind. */
const fieldsOf = (subject: Subject): FieldSummary[] => {
  const owner = innermost(subject.schema)
  return Object.entries(owner.properties ?? {}).map(([name, schema]) => {
    const summary = summaryOf(name, schema, owner.required?.includes(name) === true)
    const kind = kindBelow(subject, name)
    const held = kind?.shape === 'singleton' ? kind.kind : `list of ${kind?.kind}`
    return { ...summary, type: kind ? held : typeWords(schema, true) }
  })
}

const refersTo = (schema: JsonSchema, kind: string): boolean =>
  schema['x-ref']?.kind === kind || (schema.items !== undefined && refersTo(schema.items, kind))

/** Every field of every kind that names documents of this one, at whatever depth. */
const referrersOf = (kind: Kind): string[] => {
  const below = (schema: JsonSchema, path: string): string[] =>
    Object.entries(innermost(schema).properties ?? {}).flatMap(([name, inner]) => [
      ...(refersTo(inner, kind.kind) ? [`${path}.${name}`] : []),
      ...below(inner, `${path}.${name}`),
    ])
  return kinds.flatMap((other) => below(other.spec, other.kind))
}

const sectionPath = (kind: Kind): string => {
  const parent = kinds.find((other) => other.kind === kind.parentKind && other !== kind)
  return parent ? `${sectionPath(parent)}[].${kind.section}` : kind.section
}

const factsOf = (kind: Kind): KindFacts => {
  const [example] = kind.spec.examples ?? []
  return {
    section: sectionPath(kind),
    key: kind.shape === 'singleton' ? '' : kind.keyFields.join('/'),
    permissions: kind.permission,
    pruned: kind.prune === 'allowed',
    ...(example ? { example } : {}),
  }
}

/** A kind, or the field that is its natural key, is what others name. */
const referencesOf = ({ kind, fields }: Subject): string[] => {
  const [field, ...deeper] = fields
  const isNamed = field === undefined || (deeper.length === 0 && kind?.keyFields.includes(field))
  return kind !== null && isNamed ? referrersOf(kind) : []
}

export const explain = (words: string): Explanation => {
  const subject = findSubject(words)
  const { path, schema, kind, fields, isRequired } = subject
  const facts = kind !== null && fields.length === 0 ? factsOf(kind) : null
  const summary = summaryOf(path, schema, isRequired)
  return {
    path,
    type: facts === null ? summary.type : 'kind',
    doc: facts === null ? summary.doc : (kind?.doc ?? ''),
    required: isRequired,
    ...('default' in summary ? { default: summary.default } : {}),
    limits: limitWords(schema),
    marks: markWords(schema),
    referencedBy: referencesOf(subject),
    kind: facts,
    fields: fieldsOf(subject),
    choices: choicesOf([kind?.kind, ...fields].join('.')),
  }
}

/** The kinds in the order of a file, each with its children behind it, and what they are for. */
export const kindList = (): readonly {
  readonly kind: string
  readonly section: string
  readonly doc: string
}[] => {
  const withChildren = (kind: Kind): Kind[] => [
    kind,
    ...kinds.filter((other) => other.parentKind === kind.kind && other !== kind),
  ]
  return sectionKinds
    .flatMap(withChildren)
    .map((kind) => ({ kind: kind.kind, section: sectionPath(kind), doc: kind.doc }))
}
