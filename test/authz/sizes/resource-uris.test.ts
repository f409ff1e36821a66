/** The resource at an address: an index answers as a naive reading of the patterns does. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import { indexUris } from '#server/authz/resource-uris.ts'

const resourceWith = (uris: readonly string[], n: number): Resource => ({
  id: `r${n}`,
  doc: { name: `r${n}`, uris: [...uris], scopes: [], ownerManagedAccess: false, attributes: {} },
})

const isMatch = (pattern: string, uri: string): boolean => {
  const escaped = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return pattern === uri || new RegExp(`^${escaped.join('.*')}$`, 's').test(uri)
}

/** Exact first, then the one that says most, then the first. */
const naive = (resources: readonly Resource[], uri: string): string | undefined => {
  const found = resources.flatMap(({ id, doc }) =>
    doc.uris
      .filter((pattern) => isMatch(pattern, uri))
      .map((pattern) => ({
        id,
        rank:
          pattern === uri ? Number.POSITIVE_INFINITY : pattern.length - pattern.split('*').length,
      })),
  )
  const most = Math.max(...found.map(({ rank }) => rank))
  return found.find(({ rank }) => rank === most)?.id
}

const text = fc.array(fc.constantFrom('/', 'a', 'b', '*', '/a', 'ab'), { maxLength: 7 })
const pattern = text.map((parts) => `/${parts.join('')}`)

describe('the resource at an address', () => {
  it('is the one with the most specific pattern', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(pattern, { maxLength: 3 }), { maxLength: 8 }),
        fc.array(pattern, { minLength: 1, maxLength: 5 }),
        (lists, addresses) => {
          const resources = lists.map(resourceWith)
          const { at, exact } = indexUris(resources)
          for (const address of addresses) {
            expect(at(address)?.id).toBe(naive(resources, address))
            expect(exact(address)?.id).toBe(
              resources.find(({ doc }) => doc.uris.includes(address))?.id,
            )
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is not searched for an address longer than any URI of a resource', () => {
    const { at } = indexUris([resourceWith(['/a/*'], 0)])
    expect(at(`/a/${'b'.repeat(1000)}`)?.id).toBe('r0')
    expect(at(`/a/${'b'.repeat(2000)}`)).toBeUndefined()
  })
})
