import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCsrf } from '#server/http/cookies/csrf.ts'

describe('the CSRF token', () => {
  const csrf = createCsrf(randomBytes(32))

  it('fits the binding it was made for, and only that one', () => {
    const token = csrf.tokenFor('session-1')
    expect(csrf.matches('session-1', token)).toBe(true)
    expect(csrf.matches('session-2', token)).toBe(false)
  })

  it('is of no use under another key', () => {
    const token = createCsrf(randomBytes(32)).tokenFor('session-1')
    expect(csrf.matches('session-1', token)).toBe(false)
  })

  it.each([undefined, null, '', 0, [], {}, ['x']])('is not %j', (given) => {
    expect(csrf.matches('session-1', given)).toBe(false)
  })

  it('is refused with a character more or less', () => {
    const token = csrf.tokenFor('session-1')
    expect(csrf.matches('session-1', `${token}x`)).toBe(false)
    expect(csrf.matches('session-1', token.slice(0, -1))).toBe(false)
    expect(csrf.matches('session-1', [token])).toBe(false)
  })

  it('does not tell its binding', () => {
    expect(csrf.tokenFor('session-1')).not.toContain('session-1')
  })

  it('wants a key that cannot be guessed', () => {
    expect(() => createCsrf(randomBytes(16))).toThrow(RangeError)
  })
})
