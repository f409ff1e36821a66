/** Writes the manual: `docs/commands/*.md` and `man/iamctl.1`. A test checks that what is committed is what this writes. */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeProgram } from './described.ts'
import { markdownPages } from './markdown.ts'
import { manPage } from './roff.ts'

const root = new URL('../../', import.meta.url)
const folder = (name: string): string => {
  const path = fileURLToPath(new URL(name, root))
  mkdirSync(path, { recursive: true })
  return path
}

const groups = describeProgram()
const docs = folder('docs/commands')
const pages = markdownPages(groups)
for (const file of readdirSync(docs)) if (!pages.has(file)) rmSync(`${docs}/${file}`)
for (const [file, text] of pages) writeFileSync(`${docs}/${file}`, text)
writeFileSync(`${folder('man')}/iamctl.1`, manPage(groups))
