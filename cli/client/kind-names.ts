/** Kinds by whatever a person calls them, and where their documents are over REST. */

import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { kinds } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { path } from './http/call.ts'

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

/** Singular, plural or the name of a section, however it is spelled. */
export const findKind = (word: string): Kind => {
  const found = names.get(bare(word))
  if (found !== undefined) return found
  const meant = nearest(word, kindNames())
  throw new CommandError(exitCodes.error, `there is no kind "${word}"`, {
    hint:
      meant === undefined
        ? `kinds are ${kinds.map(kindWord).join(', ')}`
        : `did you mean "${meant}"?`,
  })
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => uuid.test(text)

const badKey = (kind: Kind, key: string, form: string): CommandError =>
  new CommandError(exitCodes.error, `"${key}" is not a valid key of a ${kind.kind}`, {
    hint: `write it as ${form}`,
  })

/** Where the list of a kind is; of a child, that of one parent. */
export const pathOfList = (realm: string, kind: Kind, parentKey?: string): string => {
  // Routes that are written by hand are named after the section.
  const below = kind.path ?? `/${kind.section}`
  const parent = /\{[a-z-]+\}/
  if (parent.test(below) && parentKey === undefined)
    throw badKey(kind, '', `${kind.parentKind}/NAME`)
  return (
    path`/admin/realms/${realm}` + below.replace(parent, () => encodeURIComponent(parentKey ?? ''))
  )
}

/** Where one document is, by its natural key or its id. */
export const pathOfOne = (realm: string, kind: Kind, key: string): string => {
  if (kind.shape === 'singleton') return pathOfList(realm, kind)
  if (kind.shape === 'tree')
    return pathOfList(realm, kind) + path`/${isUuid(key) || key.startsWith('/') ? key : `/${key}`}`
  if (kind.shape !== 'child') return pathOfList(realm, kind) + path`/${key}`
  const parentKey = parentKeyOf(kind, key)
  if (parentKey === null) throw badKey(kind, key, `${kind.parentKind}/NAME, such as web/${key}`)
  return pathOfList(realm, kind, parentKey) + path`/${key.slice(parentKey.length + 1)}`
}
