/** Shared by the pages for signed-in users: the user, the redirect to the sign-in page, the CSRF token. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { MapError } from '#server/http/errors.ts'
import { createPageErrors } from '#server/http/pages/page-errors.ts'
import type { PageContext, Pages } from '#server/http/pages/pages.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { pendingParameter } from '#server/sign-in/pages/pending.ts'
import { errorContext, pageContext } from '#server/sign-in/pages/visit.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { OAuthError } from './errors.ts'
import { freshIssuer, type RealmRoute } from './issuer.ts'
import { freshHandle } from './page-handles.ts'

export interface UserPageParts {
  readonly issuers: Issuers
  readonly sessions: Sessions
  readonly browser: Browser
  readonly pages: Pages
  readonly mapError?: MapError | undefined
}

export interface UserVisit extends FoundSession {
  readonly request: FastifyRequest<RealmRoute>
  readonly reply: FastifyReply
  readonly issuer: Issuer
}

/** The data of every such page. */
export interface UserPage extends PageContext {
  readonly username: string
  readonly csrf: string
}

export const createUserPages = ({ issuers, sessions, browser, pages, mapError }: UserPageParts) => {
  const onError = createPageErrors({
    pages,
    mapError,
    tell: (error) =>
      error instanceof OAuthError
        ? { status: error.status, error: error.status === 404 ? 'not-found' : 'bad-request' }
        : undefined,
    contextOf: errorContext(pages, issuers),
  })

  const toSignIn = (reply: FastifyReply, { name }: Issuer, handle: string): FastifyReply => {
    const query = new URLSearchParams({ [pendingParameter]: handle })
    return reply.redirect(`/realms/${name}/login?${query}`, 303)
  }

  return {
    /** A handler for users who are signed in; `handleOf` says what to come back to for those who are not. */
    forUser:
      (
        handleOf: (request: FastifyRequest) => string,
        handle: (visit: UserVisit) => Promise<FastifyReply>,
      ) =>
      async (request: FastifyRequest<RealmRoute>, reply: FastifyReply): Promise<FastifyReply> => {
        const issuer = await freshIssuer(issuers, request)
        const cookie = browser.sessionCookie(request, issuer.name)
        const found =
          cookie === undefined
            ? undefined
            : await sessions.find(issuer.name, cookie, issuer.settings)
        if (found) return handle({ ...found, request, reply, issuer })
        return toSignIn(reply, issuer, handleOf(request))
      },

    /** For a user whose sign-in is too long ago for what is to be decided. */
    signInAgain: ({ reply, issuer }: UserVisit, handle: string): FastifyReply =>
      toSignIn(reply, issuer, freshHandle(handle)),

    /** Throws unless the form is of this session. */
    checkForm: ({ session }: UserVisit, token: string | undefined): void => {
      if (!browser.isOfSession(session, token ?? ''))
        throw new Problem('csrf', 'The form is not from this session.')
    },

    pageOf: ({ request, reply, issuer, session, user }: UserVisit): UserPage => ({
      ...pageContext(pages, request, issuer.name, issuer.settings),
      username: user.username,
      csrf: browser.greet(reply, session),
    }),

    /** Tells an error on a page. */
    onError,

    /** Makes the scope of `app` tell errors on pages. */
    installErrors: (app: FastifyInstance): void => {
      app.setErrorHandler(onError)
    },
  }
}

export type UserPages = ReturnType<typeof createUserPages>
