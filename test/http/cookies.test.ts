import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { installCookies } from '#server/http/cookies/cookie-header.ts'
import { createCookies } from '#server/http/cookies/cookies.ts'

describe('cookies over https', () => {
  const cookies = createCookies('https://id.example')

  it('are host cookies that scripts cannot read and that do not travel with cross-site writes', () => {
    const hidden = { path: '/', httpOnly: true, secure: true, sameSite: 'lax' }
    expect(cookies.session('acme')).toEqual({
      name: '__Host-iam-session-acme',
      options: hidden,
    })
    expect(cookies.login('acme')).toEqual({ name: '__Host-iam-login-acme', options: hidden })
  })

  it('let scripts of the same site read the CSRF token under its exact name', () => {
    expect(cookies.xsrf).toEqual({
      name: 'XSRF-TOKEN',
      options: { path: '/', httpOnly: false, secure: true, sameSite: 'strict' },
    })
  })

  it('end with the browser unless the user is to be remembered', () => {
    expect(cookies.session('acme').options).not.toHaveProperty('maxAge')
    expect(cookies.session('acme', 3600).options.maxAge).toBe(3600)
  })
})

describe('cookies over plain http', () => {
  it('have neither prefix nor Secure, because browsers would refuse them', () => {
    const cookies = createCookies('http://127.0.0.1:8080')
    for (const cookie of [cookies.session('acme'), cookies.login('acme'), cookies.xsrf]) {
      expect(cookie.name).not.toMatch(/^__/)
      expect(cookie.options.secure).toBe(false)
    }
    expect(cookies.session('acme').name).toBe('iam-session-acme')
  })
})

describe('the headers of cookies', () => {
  const { options } = createCookies('https://id.example').session('acme', 3600)
  const answer = async (cookie?: string) => {
    const app = fastify()
    installCookies(app)
    app.get('/', async (request, reply) => {
      reply.setCookie('a', 'first', options).setCookie('b', 'kept', options)
      reply.setCookie('a', 'last', options).clearCookie('gone', options)
      return { ...request.cookies }
    })
    return app.inject({ url: '/', headers: cookie === undefined ? {} : { cookie } })
  }

  it('are read as they were sent, and hold nothing where none was', async () => {
    expect((await answer('one=1; two=a%20b; one=3')).json()).toEqual({ one: '1', two: 'a b' })
    expect((await answer()).json()).toEqual({})
  })

  it('set each name once, with what was said last, and end one at once', async () => {
    const common = 'Path=/; HttpOnly; Secure; SameSite=Lax'
    expect((await answer()).headers['set-cookie']).toEqual([
      `a=last; Max-Age=3600; ${common}`,
      `b=kept; Max-Age=3600; ${common}`,
      `gone=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax`,
    ])
  })
})
