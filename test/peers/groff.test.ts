/** The man page, read by the program that shows it. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { pathOf } from '../support/processes/programs/programs.ts'

it('is a man page that groff has nothing to say about', () => {
  const file = fileURLToPath(new URL('../../man/iamctl.1', import.meta.url))
  const command = `'${pathOf('groff')}' -man -ww -z '${file}' 2>&1`
  expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe('')
})
