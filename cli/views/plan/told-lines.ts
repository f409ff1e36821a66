/** Changes as the server tells them (a revision, a dry run): documents that come or go as a whole, others field by field. */

import type { FieldChange } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { ChangesetChange, Impact } from '#schemas/wire/wire.ts'
import { harmless } from '../human/elements/text.ts'
import { certificateAt, certificateText, withCertificateFacts } from './certificates.ts'
import { documentName, impactText, wholeDocument } from './change-lines.ts'
import { type Line, note, type Sign } from './lines.ts'
import { fieldName, quoted, scalar, transition } from './text.ts'

/** What happens, and what has happened. */
const verbs: Readonly<Record<ChangesetChange['op'], readonly [Sign, string, string]>> = {
  create: ['+', 'will be created', 'was created'],
  update: ['~', 'will be updated in-place', 'was updated'],
  rename: ['~', 'will be renamed', 'was renamed'],
  delete: ['-', 'will be destroyed', 'was destroyed'],
}

/** Consequences of a change that the files do not ask for. */
const besides = {
  adopted: ['will be adopted', 'was adopted'],
  along: ['will be updated along', 'was updated along'],
} as const

const wordsOf = ({ op, figure }: ChangesetChange): readonly [Sign, string, string] => {
  const [sign, ...words] = verbs[op]
  const [future, past] = figure === 'adopted' || figure === 'along' ? besides[figure] : words
  return [sign, future, past]
}

const pathOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => fieldName(segment.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('.')

const fieldLine = (field: FieldChange): Line => {
  const path = pathOf(field.pointer)
  if (field.change !== 'set')
    return {
      sign: field.change === 'add' ? '+' : '-',
      depth: 2,
      text: `${path} = ${scalar(field.value)}`,
    }
  const text = `${path} = ${transition(field.before ?? null, field.after ?? null)}`
  return { sign: '~', depth: 2, text }
}

/** One that goes and one that comes, each on a line of its own: a person compares fingerprints as a whole. */
const certificateLines = ({ spec }: Kind, field: FieldChange): Line[] => {
  const sides: readonly (readonly [Sign, unknown])[] =
    field.change === 'set'
      ? [
          ['-', field.before],
          ['+', field.after],
        ]
      : [[field.change === 'add' ? '+' : '-', field.value]]
  return sides.flatMap(([sign, value]) => {
    const facts = certificateAt(spec, field.pointer, value)
    const text = facts && `${pathOf(field.pointer)} = ${harmless(certificateText(facts))}`
    return text === undefined ? [] : [{ sign, depth: 2, text }]
  })
}

const fieldLines = (kind: Kind, field: FieldChange): Line[] => {
  const certificates = certificateLines(kind, field)
  return certificates.length > 0 ? certificates : [fieldLine(field)]
}

/** Of a document that comes or goes the fields are its members, each as a whole. */
const wholeOf = (kind: string, fields: readonly FieldChange[], side: 'before' | 'after'): Doc =>
  compact(
    kindNamed(kind),
    Object.fromEntries(
      fields.flatMap((field) =>
        field.change === 'set' && side in field ? [[field.pointer.slice(1), field[side]]] : [],
      ),
    ),
  )

const fieldsOf = ({ op, kind, fields }: ChangesetChange): Line[] => {
  const of = kindNamed(kind)
  const whole = (side: 'before' | 'after') =>
    withCertificateFacts(of.spec, wholeOf(kind, fields, side))
  if (op === 'create') return wholeDocument(of, whole('after'), '+')
  if (op === 'delete') return wholeDocument(of, whole('before'), '-')
  return fields.flatMap((field) => fieldLines(of, field))
}

export const toldLines = (
  change: ChangesetChange,
  { done, impact }: { readonly done: boolean; readonly impact?: Impact | undefined },
): Line[] => {
  const { op, kind, key, from, secrets } = change
  const [sign, future, past] = wordsOf(change)
  const name = documentName(kind, from ?? key)
  const renamed = op === 'rename' ? ` to ${quoted(key)}` : ''
  const reach = impact ? impactText(impact) : ''
  const inner = [
    ...fieldsOf(change),
    ...secrets.map(
      (pointer): Line => ({ sign, depth: 2, text: `${pathOf(pointer)} = (secret) changed` }),
    ),
  ]
  return [
    { ...note(1, `${name} ${done ? past : future}${renamed}`), isHeadline: true },
    ...(reach === '' ? [] : [note(1, reach)]),
    { sign, depth: 1, text: `${documentName(kind, key)}${inner.length > 0 ? ' {' : ''}` },
    ...inner,
    ...(inner.length > 0 ? [{ sign: ' ', depth: 1, text: '}' } satisfies Line] : []),
  ]
}
