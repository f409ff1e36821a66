/** Shared by the account pages: the menu, the banner of an impersonation, the notice of the last action. */

import type { FastifyReply } from 'fastify'
import { accountOf } from '#server/oidc/account-caller.ts'
import type { AccountPath } from '#server/oidc/page-handles.ts'
import { queryOf } from '#server/oidc/parameters.ts'
import type { UserPages, UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { userById } from '#server/users/user-rows.ts'
import type { Self } from '../self.ts'
import { offersSharing } from '../sharing.ts'
import type { AccountSection, AccountSectionPage } from './definitions.ts'

/** THE list of sections, in the order of the menu, and where they are below the account. */
const sections: readonly { readonly id: AccountSection; readonly at: AccountPath }[] = [
  { id: 'profile', at: 'profile' },
  { id: 'password', at: 'password' },
  { id: 'factors', at: 'security' },
  { id: 'sessions', at: 'sessions' },
  { id: 'identities', at: 'identities' },
  { id: 'applications', at: 'applications' },
  { id: 'sharing', at: 'sharing' },
  { id: 'agents', at: 'agents' },
  { id: 'data', at: 'data' },
]

/** Those that mean something in the realm: few have resources that their owners share. */
const sectionsIn = async ({ view }: Issuer): Promise<typeof sections> =>
  (await offersSharing(view)) ? sections : sections.filter(({ id }) => id !== 'sharing')

export const selfOf = ({ request, issuer, ...found }: UserVisit): Self => ({
  ...accountOf(found),
  issuer,
  address: request.ip,
})

export const pathIn = (realm: string, path: string): string => `/realms/${realm}/account${path}`

type Notice = NonNullable<AccountSectionPage['notice']>
const notices: readonly Notice[] = ['saved', 'removed', 'ended', 'added', 'mail-sent']

const noticeOf = ({ request }: UserVisit): Notice | undefined => {
  const said = queryOf(request).get('notice')
  return notices.find((notice) => notice === said)
}

/** Sends the browser to a page that says what was done, so that loading it again does nothing twice. */
export const goTo = ({ reply, issuer }: UserVisit, path: string, notice?: Notice): FastifyReply =>
  reply.redirect(pathIn(issuer.name, `${path}${notice ? `?notice=${notice}` : ''}`), 303)

export interface FrameParts {
  readonly storage: Storage
  readonly userPages: Pick<UserPages, 'pageOf'>
}

/** The impersonating administrator, by name; it may be of another realm. */
const nameOf = async ({ storage }: FrameParts, id: string): Promise<string> =>
  (await userById(storage, id))?.username ?? id

/** The model that every page of the account has; `path` is that of its form. */
export const createFrame =
  (parts: FrameParts) =>
  async (visit: UserVisit, path: string): Promise<Omit<AccountSectionPage, 'error'>> => {
    const { issuer, user, session } = visit
    const page = parts.userPages.pageOf(visit)
    const { username, csrf } = page
    const signOutUrl = `/realms/${issuer.name}/logout`
    const by = session.impersonator
    return {
      ...page,
      action: pathIn(issuer.name, path),
      name: [user.first_name, user.last_name].filter(Boolean).join(' ') || undefined,
      sections: (await sectionsIn(issuer)).map(({ id, at }) => ({
        id,
        url: pathIn(issuer.name, `/${at}`),
      })),
      signOutUrl,
      notice: noticeOf(visit),
      ...(by !== null && {
        impersonation: { by: await nameOf(parts, by), username, action: signOutUrl, csrf },
      }),
    }
  }

export type Frame = ReturnType<typeof createFrame>
