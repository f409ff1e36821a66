/** Links between the hand-written pages lead somewhere, and README stays short. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readme, root } from './pages.ts'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/commands/**'] }),
]

/** As GitHub and GitLab make them from a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (path: string): string[] =>
  [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => anchorOf(text))

const brokenLinks = (page: string, text: string): string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? join(root, page) : join(root, dirname(page), path)
      if (!existsSync(file)) return true
      return anchor !== undefined && !anchorsOf(file).includes(anchor)
    })

describe('the pages', () => {
  it.each(pages)('%s has no broken link', (page) => {
    expect(brokenLinks(page, readFileSync(join(root, page), 'utf8'))).toEqual([])
  })

  it('a broken link is found', () => {
    expect(brokenLinks('README.md', '[a](docs/nonesuch.md) [b](#nonesuch) [c](#start)')).toEqual([
      'docs/nonesuch.md',
      '#nonesuch',
    ])
  })

  it('README stays short', () => {
    expect(readme.text.length).toBeLessThan(7_000)
  })
})
