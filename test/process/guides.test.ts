/** The guides in docs/, run block by block; those with curl run in test/peers/guides.test.ts. */
import { expect, it } from 'vitest'
import { stepsOf } from '../cli/commands/guides/blocks.ts'
import { guides, needsCurl } from '../cli/commands/guides/pages.ts'
import { runPage } from '../cli/commands/guides/run-page.ts'

const runnable = guides.filter((page) => !needsCurl(page))

it('finds the guides', () => {
  expect(guides.length).toBeGreaterThan(8)
  expect(runnable.length).toBeGreaterThan(5)
})

it.each(runnable)('every command of $name does what the page says', ({ text }) => runPage(text))

it.each(guides)('$name gives a reason for every block that is not run', ({ text }) => {
  for (const step of stepsOf(text.replace('<!-- run: no server -->\n', '')))
    if (step.type === 'not-run') expect(step.reason.length).toBeGreaterThan(20)
})
