/** The hand-written pages: README and the guides right below docs/, without their index. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../..', import.meta.url))

export interface Page {
  readonly name: string
  readonly text: string
}

const isShell = /^```(?:sh|console)\n(.*?)^```/gms

/** Pages with blocks that call curl need a program that npm does not bring. */
export const needsCurl = ({ text }: Page): boolean =>
  [...text.matchAll(isShell)].some(([, block = '']) => /\bcurl\b/.test(block))

export const guides: readonly Page[] = globSync('docs/*.md', {
  cwd: root,
  exclude: ['docs/README.md'],
})
  .sort()
  .map((name) => ({ name, text: readFileSync(`${root}/${name}`, 'utf8') }))

export const readme: Page = {
  name: 'README.md',
  text: readFileSync(`${root}/README.md`, 'utf8'),
}
