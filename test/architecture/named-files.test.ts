/** Files that CONTRIBUTING.md names are there: a move takes the text along. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Blocks show changes that are not made. */
const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^```.*?^```/gms, '')

const isThere = (path: string): boolean => {
  // `<noun>` stands for any name: the folder before it is checked.
  const known = path.includes('<') ? path.slice(0, path.indexOf('<')) : path
  return globSync(known, { cwd: root }).length > 0
}

it('CONTRIBUTING.md names no file that is not there', () => {
  const text = withoutBlocks(readFileSync(`${root}/CONTRIBUTING.md`, 'utf8'))
  const named = [...text.matchAll(/`((?:server|cli|schemas|test|docs|templates)\/[^`\s]*)`/g)]
  const paths = named.map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !isThere(path))).toEqual([])
})
