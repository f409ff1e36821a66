/** Finds a kind by any of its names: singular, plural or section, however it is spelled. */

import type { Kind } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { kinds } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { CommandError, exitCodes } from '../exit.ts'

const bare = (word: string): string => word.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()

const plural = (word: string): string =>
  /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : word.endsWith('s') ? word : `${word}s`

/** Sections of children repeat others (`roles` of a client): the name of the kind itself comes first. */
const names = (() => {
  const byName = new Map<string, Kind>()
  const add = (name: string, kind: Kind): void => {
    if (!byName.has(bare(name))) byName.set(bare(name), kind)
  }
  for (const kind of kinds) for (const name of [kind.kind, plural(kind.kind)]) add(name, kind)
  for (const kind of [...sectionKinds, ...kinds]) add(kind.section, kind)
  return byName
})()

/** As it is shown to people: `client-roles`. */
export const kindWord = ({ kind, shape }: Kind): string =>
  shape === 'singleton' ? kind : plural(kind)

/** Every name that is offered where one is not known. */
export const kindNames = (): string[] => [...kinds.map(kindWord), ...kinds.map(({ kind }) => kind)]

export const isKindName = (word: string): boolean => names.has(bare(word))

/** Singular, plural or the name of a section, however it is spelled. */
export const findKind = (word: string): Kind => {
  const found = names.get(bare(word))
  if (found !== undefined) return found
  const [kind = '', ...key] = word.split('/')
  if (key.length > 0 && isKindName(kind))
    throw new CommandError(exitCodes.error, `"${word}" is a kind and a name in one word`, {
      hint: `write two words: ${kind} ${key.join('/')}`,
    })
  const meant = nearest(word, kindNames())
  throw new CommandError(exitCodes.error, `there is no kind "${word}"`, {
    hint:
      meant === undefined
        ? `kinds are ${kinds.map(kindWord).join(', ')}`
        : `did you mean "${meant}"?`,
  })
}
