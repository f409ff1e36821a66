/** From a JSON pointer into a realm value to the entry it leads into, and to the words that name the place. */

import { isObject } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { own } from '#schemas/own.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'

export interface Location {
  /** Undefined at the top of the file, and in a section that does not exist. */
  readonly kind: Kind | undefined
  /** Pointer to the entry; of a whole list, to the list. */
  readonly entry: string
  /** The rest of the pointer below the entry, in the segments of the file. */
  readonly rest: readonly string[]
}

const bySection = new Map(sectionKinds.map((kind) => [kind.section, kind]))

const isIndex = (segment: string | undefined): boolean =>
  segment !== undefined && /^\d+$/.test(segment)

export const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The node at the segments of a pointer, or undefined. */
export const valueAt = (root: unknown, segments: readonly string[]): unknown =>
  segments.reduce<unknown>((value, segment) => {
    if (Array.isArray(value)) return value[Number(segment)]
    return isObject(value) ? own(value, segment) : undefined
  }, root)

/** Pointers are cut, not rebuilt, so that what was escaped stays so. */
const cut = (pointer: string, segments: number): string =>
  pointer
    .split('/')
    .slice(0, segments + 1)
    .join('/')

export const locate = (pointer: string): Location => {
  const segments = segmentsOf(pointer)
  let kind = bySection.get(segments[0] ?? '')
  if (kind === undefined) return { kind, entry: '', rest: segments }
  let used = 1
  if (kind.shape !== 'singleton') {
    if (!isIndex(segments[1])) return { kind, entry: cut(pointer, 1), rest: segments.slice(1) }
    used = 2
    for (;;) {
      const child: Kind | undefined = childrenOf(kind).find(
        ({ section }) => section === segments[used],
      )
      if (child === undefined || !isIndex(segments[used + 1])) break
      kind = child
      used += 2
    }
  }
  return { kind, entry: cut(pointer, used), rest: segments.slice(used) }
}

/** `redirectUris[0]`, `config.clientId`. */
export const pathText = (rest: readonly string[]): string =>
  rest.reduce((path, segment) => {
    if (isIndex(segment) && path !== '') return `${path}[${segment}]`
    return path === '' ? segment : `${path}.${segment}`
  }, '')
