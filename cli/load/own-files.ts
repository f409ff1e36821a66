/**
 * Files that iamctl writes and that are no realm files: plans and generated secrets. They often lie beside the realms, under
 * any name, so they are recognised by content. A document that names a realm is never one of them: no file can be hidden so.
 */

import { isObject } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { shellWord } from '../shell-word.ts'

export interface OwnFile {
  /** Follows the name of the file. */
  readonly is: string
  readonly hint: (file: string) => string
}

const savedPlan: OwnFile = {
  is: 'is a saved plan',
  hint: (file) => `apply it with \`iamctl apply --plan ${shellWord(file)}\``,
}

const printedPlan: OwnFile = {
  is: 'is the output of `iamctl plan -o json`',
  hint: () => 'a plan that can be applied is saved with `iamctl plan --out FILE`',
}

const generatedSecrets: OwnFile = {
  is: 'holds generated secrets',
  hint: () => 'store the secrets in a secret store and delete the file',
}

/** What every plan has had in every version; the rest may differ from what this version writes. */
const isPlan = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value['formatVersion'] === 'number' &&
  typeof value['createdAt'] === 'string' &&
  typeof value['server'] === 'string' &&
  Array.isArray(value['realms'])

const kindNames = new Set(kinds.map(({ kind }) => kind))

/** As --secrets-out writes them: by realm, `kind/key` and field. */
const isSecrets = (value: Readonly<Record<string, unknown>>): boolean => {
  const realms = Object.values(value)
  return (
    realms.length > 0 &&
    realms.every(
      (documents) =>
        isObject(documents) &&
        Object.entries(documents).every(
          ([name, fields]) =>
            kindNames.has(name.split('/', 1)[0] ?? '') &&
            name.includes('/') &&
            isObject(fields) &&
            Object.values(fields).every((field) => typeof field === 'string'),
        ),
    )
  )
}

/** Asked of every file, the largest exports too: parsing is for those that look like it. */
const looksLikePlan = (text: string): boolean =>
  ['"formatVersion"', '"createdAt"', '"realms"'].every((key) => text.includes(key))

const looksLikeSecrets = (text: string): boolean => /^\s*\{\s*"[^"]*":\s*\{\s*"[a-z-]+\//.test(text)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What iamctl wrote here; undefined where the file is a person's. */
export const ownFile = (text: string): OwnFile | undefined => {
  if (!/^\s*\{/.test(text) || !(looksLikePlan(text) || looksLikeSecrets(text))) return undefined
  const value = parsed(text)
  if (!isObject(value)) return undefined
  if (isSecrets(value)) return generatedSecrets
  if (!isPlan(value) || Object.hasOwn(value, 'realm')) return undefined
  return Object.hasOwn(value, 'digest') ? savedPlan : printedPlan
}
