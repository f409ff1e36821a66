/**
 * Secrets that are sent to an address which their document names. A caller who may not read a stored secret must not redirect
 * it either: if the address changes, the secret must be given again.
 */

import { type Doc, isObject } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { own } from '../own.ts'
import type { FieldError } from '../problems.ts'
import { secretFields } from '../walk.ts'

const valueAt = (doc: Doc, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, name) => (isObject(value) ? own(value, name) : undefined), doc)

/** Where a value leads: of an address only what decides who answers there. */
const placeOf = (value: unknown): unknown => {
  if (typeof value !== 'string') return value
  const url = URL.parse(value)
  return url?.host ? `${url.protocol}//${url.host.toLowerCase()}` : value.toLowerCase()
}

export interface MovedSecret {
  readonly pointer: string
  /** Pointer of the field that has changed. */
  readonly because: string
}

/** The secret fields that lead elsewhere afterwards, whether they are set or not. */
export const movedSecrets = (kind: Kind, before: Doc, after: Doc): MovedSecret[] =>
  secretFields(kind).flatMap(({ pointer, mark: { sentTo = [] } }) => {
    const because = sentTo.find(
      (field) => placeOf(valueAt(before, field)) !== placeOf(valueAt(after, field)),
    )
    return because === undefined ? [] : [{ pointer, because }]
  })

export const movedSecretError = ({ pointer, because }: MovedSecret): FieldError => ({
  field: pointer,
  code: 'secret-moved',
  message: `give ${pointer.slice(pointer.lastIndexOf('/') + 1)} again: ${because} changed, so that it would be sent elsewhere`,
})
