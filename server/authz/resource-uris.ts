/**
 * Resources by their URIs: paths or addresses, with `*` for anything. One request may name some hundred addresses, and a resource
 * server has up to a hundred thousand resources: patterns are taken apart once, and an address is compared only with those
 * that begin as it does (CWE-407).
 */

import type { Resource } from './evaluation/evaluate.ts'

export interface ResourceUris {
  /** The first resource that names this URI, letter by letter. */
  exact(uri: string): Resource | undefined
  /** The resource whose pattern says most about the address: an exact one before any other, then the longest. */
  at(uri: string): Resource | undefined
}

interface Pattern {
  readonly resource: Resource
  /** What stands between the asterisks, after the text before the first one. */
  readonly middle: readonly string[]
  readonly end: string
  /** How many characters it says. */
  readonly rank: number
  /** The place among all patterns, where two say as much. */
  readonly order: number
}

/** As long as a URI of a resource may be; the time to compare grows with the address. */
const longestAddress = 2000

/** Without a regular expression: patterns are configuration, and the time to match stays linear in the address. */
const matches = (start: string, { middle, end }: Pattern, uri: string): boolean => {
  if (uri.length < start.length + end.length) return false
  let at = start.length
  for (const part of middle) {
    const found = uri.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return uri.endsWith(end) && uri.length - end.length >= at
}

const isBefore = (one: Pattern, other: Pattern): boolean =>
  one.rank > other.rank || (one.rank === other.rank && one.order < other.order)

export const indexUris = (resources: readonly Resource[]): ResourceUris => {
  const named = new Map<string, Resource>()
  const byStart = new Map<string, Pattern[]>()
  let order = 0
  for (const resource of resources)
    for (const uri of resource.doc.uris) {
      if (!named.has(uri)) named.set(uri, resource)
      const [start = '', ...middle] = uri.split('*')
      const end = middle.pop()
      if (end === undefined) continue
      const rank = uri.replaceAll('*', '').length
      const patterns = byStart.get(start) ?? []
      patterns.push({ resource, middle, end, rank, order })
      byStart.set(start, patterns)
      order += 1
    }
  for (const patterns of byStart.values())
    patterns.sort((one, other) => (isBefore(one, other) ? -1 : 1))
  const lengths = [...new Set([...byStart.keys()].map(({ length }) => length))]

  return {
    exact: (uri) => named.get(uri),
    at: (uri) => {
      if (uri.length > longestAddress) return undefined
      const exact = named.get(uri)
      if (exact) return exact
      let best: Pattern | undefined
      for (const length of lengths) {
        if (length > uri.length) continue
        const start = uri.slice(0, length)
        for (const pattern of byStart.get(start) ?? []) {
          if (best && isBefore(best, pattern)) break
          if (!matches(start, pattern, uri)) continue
          best = pattern
          break
        }
      }
      return best?.resource
    },
  }
}
