/**
 * The values that may be stored, the same on both databases. Other values behave differently: one stores an integer as
 * 1.0, the other refuses NUL in text, both silently replace a lone surrogate.
 */

import { pointerSegment } from '#schemas/json-schema.ts'
import type { FieldError } from '#schemas/problems.ts'
import { unstorable } from '#schemas/text/storable-text.ts'
import type { Statement } from './contract.ts'

/** Throws a TypeError that names the position, never the value. */
export function checkStatements(statements: readonly Statement[]): void {
  for (const { parameters } of statements) {
    for (let position = 0; position < parameters.length; position += 1) {
      const reason = refusal(parameters[position])
      if (reason !== undefined) {
        throw new TypeError(`parameter ${position + 1} cannot be stored: ${reason}`)
      }
    }
  }
}

/** Text that cannot be stored, anywhere in a body: refused at validation instead of failing here. */
export function textErrors(value: unknown, pointer = ''): FieldError[] {
  if (typeof value === 'string') {
    const reason = refusal(value)
    return reason === undefined
      ? []
      : [{ field: pointer || '/', code: 'text', message: `is ${reason}` }]
  }
  if (hasOnlyStorableText(value)) return []
  return Object.entries(value as object).flatMap(([name, inner]) => {
    const reason = unstorable(name)
    const field = pointer || '/'
    return reason === undefined
      ? textErrors(inner, `${pointer}/${pointerSegment(name)}`)
      : [{ field, code: 'text', message: `has a name that is ${reason}` }]
  })
}

/** Asked first: a pointer to every value of a large body costs more. */
function hasOnlyStorableText(value: unknown): boolean {
  if (typeof value === 'string') return refusal(value) === undefined
  if (typeof value !== 'object' || value === null) return true
  for (const name in value)
    if (unstorable(name) !== undefined || !hasOnlyStorableText(value[name as keyof typeof value]))
      return false
  return true
}

/** Why a value cannot be stored; undefined when it can. */
export function refusal(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return unstorable(value)
    case 'number':
      return Number.isSafeInteger(value) ? undefined : 'a number that is not a safe integer'
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? undefined : 'an integer beyond 2^53 - 1'
    case 'boolean':
      return undefined
    default:
      return value === null ? undefined : `a value of type ${typeof value}`
  }
}
