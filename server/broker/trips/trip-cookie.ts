/** The cookie that ties trips to the browser in which they began. It lasts as long as the browser: several tabs share it. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import { randomToken } from '#server/platform/random.ts'

const made = /^[A-Za-z0-9_-]{43}$/

export const createTripCookie = (cookies: Pick<Cookies, 'broker'>) => {
  const read = (request: FastifyRequest, realm: string): string | undefined => {
    const value = request.cookies[cookies.broker(realm).name]
    return value !== undefined && made.test(value) ? value : undefined
  }
  return {
    read,
    /** Sets the cookie where there is none. */
    make: (request: FastifyRequest, reply: FastifyReply, realm: string): string => {
      const value = read(request, realm) ?? randomToken()
      const { name, options } = cookies.broker(realm)
      reply.setCookie(name, value, options)
      return value
    },
  }
}

export type TripCookie = ReturnType<typeof createTripCookie>
