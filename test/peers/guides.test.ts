/** The guides in docs/ whose blocks call curl, run block by block. */
import { beforeAll, it } from 'vitest'
import { guides, needsCurl } from '../cli/commands/guides/pages.ts'
import { runPage } from '../cli/commands/guides/run-page.ts'
import { pathOf } from '../support/processes/programs/programs.ts'

beforeAll(() => {
  pathOf('curl')
})

it.each(guides.filter(needsCurl))('every command of $name does what the page says', ({ text }) =>
  runPage(text),
)
