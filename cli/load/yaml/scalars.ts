/** Which value an unquoted text has: the core schema of YAML 1.2 (§10.3), where `yes`, `on` and dates are text. */

import { boolCoreTag, floatCoreTag, intCoreTag, NOT_RESOLVED, nullCoreTag } from 'js-yaml'
import type { Scalar } from './tree.ts'

const tags = {
  null: nullCoreTag,
  bool: boolCoreTag,
  int: intCoreTag,
  float: floatCoreTag,
} as const

export type ScalarTag = keyof typeof tags

/** The value under an explicit tag such as `!!int`; undefined where the text does not fit it. */
export const taggedValue = (tag: ScalarTag, text: string): Scalar | undefined => {
  const value: Scalar | typeof NOT_RESOLVED = tags[tag].resolve(text, true, tags[tag].tagName)
  return value === NOT_RESOLVED ? undefined : value
}

/** By the first character, because most text begins with a letter that no other value begins with. */
const implicitTags = (first: string): readonly ScalarTag[] => {
  if (first === '' || first === '~' || first === 'n' || first === 'N') return ['null']
  if (first === 't' || first === 'T' || first === 'f' || first === 'F') return ['bool']
  if ((first >= '0' && first <= '9') || first === '-' || first === '+' || first === '.')
    return ['int', 'float']
  return []
}

export const plainValue = (text: string): Scalar => {
  for (const tag of implicitTags(text.charAt(0))) {
    const value: Scalar | typeof NOT_RESOLVED = tags[tag].resolve(text, false, tags[tag].tagName)
    if (value !== NOT_RESOLVED) return value
  }
  return text
}

/** Why a number is not allowed: JSON has no infinity, and a long integer would lose its last digits. */
export const numberProblem = (value: Scalar): string | undefined => {
  if (typeof value !== 'number') return undefined
  if (!Number.isFinite(value)) return 'this is not a finite number'
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return 'this number is too large to be kept exactly'
  return undefined
}

/** The type that a text has where it fills a whole value; what is no exact number stays text. */
export const typedValue = (text: string): Scalar => {
  const value = plainValue(text)
  return numberProblem(value) === undefined ? value : text
}
