/** Where the documents of a kind are over REST. */

import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { path, segmentOf } from './http/call.ts'

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
  return path`/admin/realms/${realm}` + below.replace(parent, () => segmentOf(parentKey ?? ''))
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
