/** The pages where a method is added. What has begun is in the address of the form, sealed: nothing waits on the server. */

import { queryOf } from '#server/oidc/parameters.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type {
  ConfigureTotpPage,
  RegisterPasskeyPage,
} from '#server/sign-in/pages/definitions/enrolment.ts'
import type { Enrolments } from '../credentials/enrolments.ts'
import type { SelfServicePages } from './definitions.ts'
import { additionPath, factorsPath } from './factors.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface AdditionParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly enrolments: Enrolments
}

const ticketOf = ({ request }: UserVisit): string => queryOf(request).get('ticket') ?? ''

const withTicket = (path: string, ticket: string): string =>
  `${path}?${new URLSearchParams({ ticket })}`

const common = { section: 'security', events: ['UPDATE_CREDENTIAL'] } as const

export const additionPages = (parts: AdditionParts): AccountPage[] => {
  const { pages, frame } = parts
  const { otp, passkey, recoveryCodes } = parts.enrolments
  const [totpPath, passkeyPath, codesPath] = [
    additionPath('totp'),
    additionPath('passkey'),
    additionPath('recovery-codes'),
  ]
  const added = (visit: UserVisit) => goTo(visit, factorsPath, 'added')
  const cancelled = (visit: UserVisit) => goTo(visit, factorsPath)

  const showTotp = async (visit: UserVisit, error?: ConfigureTotpPage['error']) => {
    const self = selfOf(visit)
    const known = await otp.shown(self, ticketOf(visit))
    const begun = known ?? (await otp.begin(self))
    // At an address that shows the same secret whenever it is loaded, in whatever language.
    if (!known && !error) return goTo(visit, withTicket(totpPath, begun.ticket))
    return pages.configureTotp(visit.reply, {
      ...(await frame(visit, withTicket(totpPath, begun.ticket))),
      otpauthUrl: begun.otpauthUri,
      secret: begun.secret,
      digits: begun.digits,
      canCancel: true,
      ...(error && { error, status: 400 }),
    })
  }

  const showPasskey = async (visit: UserVisit, error?: RegisterPasskeyPage['error']) =>
    pages.registerPasskey(visit.reply, {
      ...(await frame(visit, passkeyPath)),
      options: await passkey.begin(selfOf(visit)),
      canCancel: true,
      ...(error && { error, status: 400 }),
    })

  const showCodes = async (visit: UserVisit) => {
    const { ticket, codes } = await recoveryCodes.begin(selfOf(visit))
    return pages.recoveryCodes(visit.reply, {
      ...(await frame(visit, withTicket(codesPath, ticket))),
      codes,
      canCancel: true,
    })
  }

  return [
    {
      ...common,
      path: totpPath,
      name: 'totp-page',
      summary: 'Adds an authenticator app',
      show: (visit) => showTotp(visit),
      fields: ['code', 'label', 'step'],
      submit: async (visit, form) => {
        if (form.get('step') === 'cancel') return cancelled(visit)
        const result = await otp.finish(selfOf(visit), {
          ticket: ticketOf(visit),
          code: form.get('code') ?? '',
          label: form.get('label') ?? '',
        })
        if (result === 'expired') return showTotp(visit, 'expired')
        return result === 'wrong' ? showTotp(visit, 'wrong-code') : added(visit)
      },
    },
    {
      ...common,
      path: passkeyPath,
      name: 'passkey-page',
      summary: 'Adds a passkey',
      show: (visit) => showPasskey(visit),
      fields: ['response', 'label', 'step'],
      submit: async (visit, form) => {
        if (form.get('step') === 'cancel') return cancelled(visit)
        const result = await passkey.finish(selfOf(visit), {
          response: form.get('response') ?? '',
          label: form.get('label') ?? '',
        })
        return typeof result === 'string' ? showPasskey(visit, 'not-recognised') : added(visit)
      },
    },
    {
      ...common,
      path: codesPath,
      name: 'recovery-codes-page',
      summary: 'Shows new recovery codes, this once',
      show: showCodes,
      fields: ['saved', 'step'],
      submit: async (visit, form) => {
        if (form.get('saved') !== 'true') return cancelled(visit)
        const result = await recoveryCodes.finish(selfOf(visit), ticketOf(visit))
        return typeof result === 'string' ? showCodes(visit) : added(visit)
      },
    },
  ]
}
