/** The concurrent changes of a realm that made a plan stale: author, time, source and documents. */

import { isObject } from '#schemas/json-schema.ts'
import { harmless } from './elements/text.ts'
import { cellOf, moment } from './elements/values.ts'

const mostRevisions = 10
const mostDocuments = 5

const more = (count: number, what: string): string[] =>
  count > 0 ? [`and ${count} more ${what}`] : []

const lineOf = (moved: Readonly<Record<string, unknown>>): string => {
  const { revision, at, actor, actorName, source, message } = moved
  const changes = Array.isArray(moved['changes']) ? moved['changes'].filter(isObject) : []
  const documents = [
    ...changes.slice(0, mostDocuments).map(({ op, kind, key }) => `${op} ${kind} ${key}`),
    ...more(changes.length - mostDocuments, 'documents'),
  ]
  const when = typeof at === 'number' ? `, ${moment(at)}` : ''
  const why = typeof message === 'string' && message !== '' ? ` "${message}"` : ''
  const who = `${cellOf(actorName ?? actor)} through ${cellOf(source)}`
  return `revision ${cellOf(revision)}${when}, by ${who}${why}: ${documents.join(', ')}`
}

/** None where the details tell nothing of it. */
export const movedLines = ({ moved }: Readonly<Record<string, unknown>>): string[] => {
  const all = Array.isArray(moved) ? moved.filter(isObject) : []
  return [
    ...all.slice(0, mostRevisions).map(lineOf),
    ...more(all.length - mostRevisions, 'revisions'),
  ].map(harmless)
}
