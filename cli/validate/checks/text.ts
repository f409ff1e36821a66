/** Text that the server cannot store, in values and in names, wherever it stands. */

import { isObject, pointerSegment } from '#schemas/json-schema.ts'
import { unstorable } from '#schemas/text/storable-text.ts'
import type { Finding } from '../finding.ts'

const finding = (pointer: string, at: 'key' | 'value', message: string): Finding => ({
  severity: 'error',
  code: 'file-text',
  pointer,
  at,
  message,
})

/** Asked first: a pointer to every value of a large realm costs more. */
const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return unstorable(value) === undefined
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(
    ([name, inner]) => unstorable(name) === undefined && isStorable(inner),
  )
}

export const checkText = (value: unknown, pointer = ''): Finding[] => {
  if (isStorable(value)) return []
  if (typeof value === 'string') return [finding(pointer, 'value', `is ${unstorable(value)}`)]
  const entries = Array.isArray(value)
    ? value.entries()
    : Object.entries(isObject(value) ? value : {})
  return [...entries].flatMap(([name, inner]) => {
    const place = `${pointer}/${pointerSegment(String(name))}`
    const reason = unstorable(String(name))
    return reason === undefined
      ? checkText(inner, place)
      : [finding(place, 'key', `this name is ${reason}`)]
  })
}
