/**
 * Secrets for a laptop: a name that the files take from the environment, and that is not set there, gets a random value.
 * They are kept beside the data, because the server of the next run on it knows them.
 */

import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '#schemas/json-schema.ts'
import { writePrivateFile } from '../private-file.ts'

/** Without characters that are taken for each other. */
const alphabet = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const groups = 6
const groupLength = 6
/** Of each class of characters that a password policy can ask for. */
const leastOfClass = 4
const classes = [/[a-z]/g, /[A-Z]/g, /[0-9]/g, /-/g]

const random = (): string =>
  Array.from({ length: groups }, () =>
    Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join(''),
  ).join('-')

const isMixed = (text: string): boolean =>
  classes.every((one) => (text.match(one)?.length ?? 0) >= leastOfClass)

/** Long enough for a client secret, mixed enough for a password policy. */
export const makeSecret = (): string => {
  for (;;) {
    const text = random()
    if (isMixed(text)) return text
  }
}

export interface MadeUpSecrets {
  readonly file: string
  names(): readonly string[]
  valueOf(name: string): string | undefined
  /** Makes values for names that have none; answers those that are new. */
  ensure(names: Iterable<string>): readonly string[]
}

const readKnown = (file: string): Map<string, string> => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return new Map()
  }
  const value: unknown = JSON.parse(text)
  const entries = Object.entries(isObject(value) ? value : {})
  return new Map(entries.map(([name, secret]) => [name, String(secret)]))
}

export const openMadeUpSecrets = (folder: string): MadeUpSecrets => {
  const file = join(folder, 'dev-secrets.json')
  const known = readKnown(file)
  return {
    file,
    names: () => [...known.keys()],
    valueOf: (name) => known.get(name),
    ensure(names) {
      const missing = [...new Set(names)].filter((name) => !known.has(name))
      if (missing.length === 0) return missing
      for (const name of missing) known.set(name, makeSecret())
      writePrivateFile(file, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`)
      return missing
    },
  }
}
