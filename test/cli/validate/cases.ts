/**
 * Reads `broken/*.txt`: realms with one mistake or a few, each followed by everything that is said about it. The first
 * line of a case is its title; `realm: acme` is put before its text, on line 1.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface BrokenRealm {
  readonly title: string
  readonly text: string
  readonly expected: readonly string[]
}

const folder = join(import.meta.dirname, 'broken')

const caseOf = (block: string): BrokenRealm => {
  const [head = '', said = ''] = block.split(/^--- *$/m)
  const [title = '', ...lines] = head.trim().split('\n')
  return {
    title,
    text: `realm: acme\n${lines.join('\n')}\n`,
    expected: said.split('\n').filter((line) => line.trim() !== ''),
  }
}

export const brokenRealms = (): ReadonlyMap<string, readonly BrokenRealm[]> =>
  new Map(
    readdirSync(folder)
      .sort()
      .map((file) => [
        file.replace(/\.txt$/, ''),
        readFileSync(join(folder, file), 'utf8')
          .split(/^=== */m)
          .filter((block) => block.trim() !== '')
          .map(caseOf),
      ]),
  )
