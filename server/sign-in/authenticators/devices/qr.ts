/**
 * A QR code that the user scans with a signed-in phone: the user of the phone signs in here. The browser that shows the code
 * cannot confirm it itself. The first page writes nothing to the database: a code is created on request, a reload shows the
 * same code, and their number is limited per browser and IP address.
 */

import type { Approvals } from '#server/credentials/devices/approvals.ts'
import { addressGroup } from '#server/http/client-address.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { signInGuard } from '#server/sessions/begun-sign-ins.ts'
import type { Users } from '#server/users/users.ts'
import {
  type AnswerContext,
  type Answered,
  refused,
  type Shown,
  type Step,
  type StepContext,
  stepError,
} from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { createElsewhere, statusUrl } from './questions-elsewhere.ts'

interface Parts {
  readonly pages: SignInPages
  readonly clock: Clock
  readonly users: Users
  readonly approvals: Approvals
  readonly baseUrl: string
}

/** Pictures that one address may ask for; an office has one address. */
const perAddress = { limit: 60, seconds: 600 }
/** Twice the number that an unattended page requests; a single browser cannot exhaust the limit of its network. */
const perBrowser = { limit: 15, seconds: 600 }

export const qr = (parts: Parts): Step => {
  const { pages, clock, users, approvals, baseUrl } = parts
  const { ask, rowOf, status, statusOf } = createElsewhere(parts)
  const browsers = createMemoryLimiter(clock, perBrowser)
  const addresses = createMemoryLimiter(clock, perAddress)

  /** Undefined where the browser or the address has reached its limit. */
  const newPicture = async (context: StepContext) => {
    const { browser, address } = context
    const tooMany =
      (await browsers.take(browser)) > 0 || (await addresses.take(addressGroup(address))) > 0
    return tooMany ? undefined : ask(context, 'qr')
  }

  const askAnew = async (context: AnswerContext): Promise<Answered> => {
    const asked = await newPicture(context)
    return asked ? context.again(asked.notes, asked.statements) : refused('too-many', 429)
  }

  return {
    id: 'qr',
    amr: 'mca',
    identifies: true,
    status,
    show: async (context) => {
      const { realm, stored } = context
      const before = await rowOf(context)
      // A code that has ended is replaced by a new one.
      const known = ['PENDING', 'APPROVED'].includes(statusOf(before)) ? before : undefined
      const asked = known || !stored ? undefined : await newPicture(context)
      const row = known ?? asked?.row
      const shown: Shown = {
        send: (reply, page) =>
          pages.qr(reply, {
            ...page,
            text: row && `${baseUrl}/realms/${realm}/qr/${row.id}`,
            number: row?.number,
            statusUrl: statusUrl(context),
            error: stepError(page.refusal) ?? (row || !stored ? undefined : 'too-many'),
          }),
      }
      return asked ? { ...shown, notes: asked.notes, statements: asked.statements } : shown
    },
    answer: async (context, form) => {
      if (form('check') !== 'true') return refused('expired')
      const row = await rowOf(context)
      const said = statusOf(row)
      if (said === 'PENDING') return context.again(context.notes)
      if (said === 'DENIED') return refused('denied', 401)
      if (!row || said === 'EXPIRED' || row.user_id === null) return askAnew(context)
      const user = await users.find(context.realm, row.user_id)
      if (!user || (context.user && context.user.id !== user.id))
        return refused('not-recognised', 401)
      return context.pass({
        user,
        name: user.username,
        statements: approvals.use(row, signInGuard),
      })
    },
  }
}
