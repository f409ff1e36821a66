/** The source tree meets the architecture rules; test/architecture/planted.test.ts shows that each rule can fail. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { kindNames, rules } from './architecture/rules.ts'
import { readTree } from './architecture/tree.ts'

const tree = readTree(fileURLToPath(new URL('..', import.meta.url)))

describe('the architecture', () => {
  it.each(rules)('$title', ({ broken }) => {
    expect(broken(tree)).toEqual([])
  })

  it('is checked on every part of the tree', () => {
    const parts = ['schemas/', 'server/', 'cli/', 'test/']
    for (const part of parts)
      expect(tree.files.filter(({ path }) => path.startsWith(part)).length, part).toBeGreaterThan(0)
    expect(kindNames(tree)).toContain('webhook')
  })
})
