/** Redirects the browser after an answer that was not refused. */

import type { FastifyReply } from 'fastify'
import type { Answered } from '../flow/step.ts'
import { afterReset, pathOf, stepPath } from './addresses.ts'
import type { Browser } from './browser.ts'
import type { SignInContext } from './sign-in-contexts.ts'

export type Accepted = Exclude<Answered, { readonly kind: 'refused' }>

export const createGoOn =
  (browser: Pick<Browser, 'signIn' | 'remember'>) =>
  (reply: FastifyReply, { visitor, pending }: SignInContext, answered: Accepted): FastifyReply => {
    switch (answered.kind) {
      case 'again':
      case 'went-on':
        return reply.redirect(stepPath(answered.signIn), 303)
      case 'finished':
        return reply.redirect(afterReset(visitor.realm, answered.state.pending), 303)
      case 'signed-in':
        browser.signIn(reply, answered.session.session, answered.session.cookieValue)
        browser.remember(reply, answered.device)
        return reply.redirect(pending?.continueTo ?? pathOf(visitor.realm, 'login'), 303)
    }
  }
