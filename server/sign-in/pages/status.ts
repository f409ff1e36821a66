/**
 * The status for a page that waits for another device. It answers only the browser of the sign-in, and changes nothing.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Engine, over } from '../flow/engine.ts'
import type { SignIns } from '../flow/sign-ins.ts'
import type { Browser } from './browser.ts'
import type { RealmRoute, Visit } from './visit.ts'

export interface SignInRoute extends RealmRoute {
  Params: { realm: string; signIn: string }
}

export interface StatusParts {
  readonly engine: Pick<Engine, 'ask' | 'status'>
  readonly signIns: Pick<SignIns, 'find'>
  readonly browser: Browser
  readonly visits: (request: FastifyRequest<SignInRoute>) => Promise<Visit>
}

export const createStatus = ({ engine, signIns, browser, visits }: StatusParts) => {
  const statusOf = async (request: FastifyRequest<SignInRoute>): Promise<string> => {
    const { realm, view, settings, current, isOpen } = await visits(request)
    const cookie = browser.preLoginCookie(request, realm)
    if (cookie === undefined || !isOpen) return over
    const signIn = await signIns.find(realm, request.params.signIn, cookie)
    if (!signIn) return over
    const sessionCookie = browser.sessionCookie(request, realm)
    const visitor = { request, realm, settings, view, current, sessionCookie, browser: cookie }
    const asked = await engine.ask(visitor, signIn)
    return asked ? engine.status(visitor, asked) : over
  }

  return async (request: FastifyRequest<SignInRoute>, reply: FastifyReply): Promise<FastifyReply> =>
    reply.header('cache-control', 'no-store').send({ status: await statusOf(request) })
}
