/** Cookies of requests and answers (RFC 6265bis): the header is read where a cookie is asked for, which most requests never do. */

import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CookieOptions } from './cookies.ts'

type CookieValues = Readonly<Record<string, string | undefined>>

declare module 'fastify' {
  interface FastifyRequest {
    readonly cookies: CookieValues
  }
  interface FastifyReply {
    /** Of several with the same name the last counts. */
    setCookie(name: string, value: string, options: CookieOptions): this
    clearCookie(name: string, options: CookieOptions): this
  }
}

const header = 'set-cookie'
const past = new Date(0)

export const installCookies = (app: FastifyInstance): void => {
  const read = new WeakMap<FastifyRequest, CookieValues>()
  const written = new WeakMap<FastifyReply, Map<string, string>>()

  const cookiesOf = (request: FastifyRequest): CookieValues => {
    const values = read.get(request) ?? parseCookie(request.headers.cookie ?? '')
    read.set(request, values)
    return values
  }

  const write = (reply: FastifyReply, name: string, line: string): void => {
    const lines = (written.get(reply) ?? new Map()).set(name, line)
    written.set(reply, lines)
    // Fastify adds to this header where others are replaced.
    reply.removeHeader(header).header(header, [...lines.values()])
  }

  app.decorateRequest('cookies', {
    getter() {
      return cookiesOf(this)
    },
  })
  app.decorateReply('setCookie', function setCookie(name, value, options) {
    write(this, name, stringifySetCookie({ name, value, ...options }))
    return this
  })
  app.decorateReply('clearCookie', function clearCookie(name, { maxAge: _maxAge, ...options }) {
    write(this, name, stringifySetCookie({ name, value: '', ...options, expires: past }))
    return this
  })
}
