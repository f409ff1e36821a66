/** Every error has a hint on the next action. */
import { describe, expect, it } from 'vitest'
import { ProblemError, problemOf, UnreachableError } from '#cli/client/http/errors.ts'
import { failureOf } from '#cli/failure.ts'
import { problems } from '#schemas/problems.ts'

describe('what to do next', () => {
  it.each(Object.entries(problems))('is said of the problem %s', (code, { status, title }) => {
    const { hint } = failureOf(new ProblemError(problemOf(status, { code, title })))
    expect(hint).toMatch(/\w/)
  })

  it.each(['refused', 'unknown-host', 'no-route', 'tls', 'timeout', 'closed', 'stranger'] as const)(
    'is said of a server that cannot be reached: %s',
    (reason) => {
      const { hint } = failureOf(new UnreachableError('http://127.0.0.1', reason, 'it is away'))
      expect(hint).toMatch(/\w/)
    },
  )

  it('is said of a file that cannot be used', () => {
    const error = Object.assign(new Error('ENOENT'), { syscall: 'open', path: '/nowhere' })
    expect(failureOf(error)).toMatchObject({
      code: 'command',
      hint: expect.stringContaining('path'),
    })
  })
})
