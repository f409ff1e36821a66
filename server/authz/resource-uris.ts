/** Resources by their URIs: paths or addresses, with `*` for anything. */

import type { Resource } from './evaluation/evaluate.ts'

/** Without a regular expression: patterns are configuration, and the time to match stays linear in the address. */
const matches = (pattern: string, uri: string): boolean => {
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.pop()
  if (end === undefined) return pattern === uri
  if (!uri.startsWith(start) || uri.length < start.length + end.length) return false
  let at = start.length
  for (const part of rest) {
    const found = uri.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return uri.endsWith(end) && uri.length - end.length >= at
}

const literalLength = (pattern: string): number => pattern.replaceAll('*', '').length

/** The resource whose pattern says most about the address: an exact one before any other, then the longest. */
export const resourceAt = (resources: readonly Resource[], uri: string): Resource | undefined => {
  let best: { resource: Resource; rank: number } | undefined
  for (const resource of resources)
    for (const pattern of resource.doc.uris) {
      if (!matches(pattern, uri)) continue
      const rank = pattern === uri ? Number.POSITIVE_INFINITY : literalLength(pattern)
      if (!best || rank > best.rank) best = { resource, rank }
    }
  return best?.resource
}
