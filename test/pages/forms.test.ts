/** What holds for the forms of every page, read from its markup. */
import { afterAll, describe, expect, it } from 'vitest'
import { examples } from './examples.ts'
import { exampleServer } from './server.ts'

const { app } = exampleServer({})
afterAll(() => app.close())

const htmlOf = async (example: string): Promise<string> =>
  (await app.inject(`/${example}?impersonated`)).body
const all = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map((match) => match[1] ?? match[0])
const inputOf = (html: string, name: string): string =>
  all(html, /<input [^>]+>/g).find((input) => input.includes(` name="${name}"`)) ?? ''

describe('a page', () => {
  it.each(Object.keys(examples))('has forms that hold together: %s', async (example) => {
    const html = await htmlOf(example)
    const ids = all(html, /\sid="([^"]+)"/g)
    expect(new Set(ids).size).toBe(ids.length)
    for (const list of all(html, /\s(?:for|aria-describedby|aria-labelledby)="([^"]+)"/g))
      for (const id of list.split(' ')) expect(ids).toContain(id)
    for (const form of all(html, /<form .*?<\/form>/gs)) {
      expect(form).toMatch(/^<form method="post" action="\/form"/)
      expect(form).toContain('<input type="hidden" name="_csrf" value="token">')
    }
    expect(all(html, /\sautofocus\b/g).length).toBeLessThanOrEqual(1)
    for (const input of all(html, /<input (?![^>]*(?:type="hidden"|type="checkbox"))[^>]+>/g))
      expect(input).toMatch(/\sautocomplete="[a-z- ]+"/)
  })

  it.each([
    ['login', 'username', ['autocomplete="username webauthn"', 'autocapitalize="none"']],
    ['login-failed', 'username', ['autocomplete="username"', 'aria-invalid="true"']],
    ['login-failed', 'password', ['autocomplete="current-password"', 'autofocus']],
    ['identify', 'username', ['autocomplete="username webauthn"', 'autofocus']],
    ['password', 'username', ['autocomplete="username"', 'hidden']],
    ['totp', 'code', ['autocomplete="one-time-code"', 'inputmode="numeric"', 'autofocus']],
    ['totp-failed', 'code', ['aria-invalid="true"', 'aria-describedby="form-error"']],
    ['sms-code', 'code', ['autocomplete="one-time-code"', 'inputmode="numeric"']],
    ['recovery-code', 'code', ['autocomplete="off"', 'spellcheck="false"']],
    ['register', 'email', ['type="email"', 'autocomplete="email"']],
    ['register', 'username', ['aria-describedby="username-error"', 'autofocus']],
    ['register', 'password', ['aria-describedby="password-hint password-error"', 'new-password']],
    ['update-password', 'passwordConfirm', ['aria-invalid="true"', 'autofocus']],
    ['reset-password', 'username', ['autocomplete="username"', 'hidden']],
    ['account-password', 'currentPassword', ['autocomplete="current-password"', 'autofocus']],
  ])('helps browsers and people with a field: %s, %s', async (example, name, attributes) => {
    const input = inputOf(await htmlOf(example), name)
    for (const attribute of attributes) expect(input).toContain(attribute)
  })

  it.each(Object.keys(examples))('gives no password or code back: %s', async (example) => {
    const html = await htmlOf(example)
    for (const name of ['password', 'passwordConfirm', 'currentPassword', 'code', 'number'])
      expect(inputOf(html, name)).not.toContain(' value=')
  })
})
