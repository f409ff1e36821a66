/**
 * A picture that the user reads with a phone on which they are signed in: who confirms there is who signs in here. The
 * browser that shows the picture cannot confirm it itself.
 */

import type { FactorParts } from '../factor-parts.ts'
import { signInGuard } from '../flow/sign-ins.ts'
import { refused, type Shown, type Step, stepError } from '../step.ts'
import { type Asked, createElsewhere, statusUrl } from './questions-elsewhere.ts'

type Parts = Pick<FactorParts, 'pages' | 'clock' | 'users' | 'approvals' | 'baseUrl'>

export const qr = (parts: Parts): Step => {
  const { pages, users, approvals, baseUrl } = parts
  const { ask, rowOf, status, statusOf } = createElsewhere(parts)

  return {
    id: 'qr',
    amr: 'mca',
    identifies: true,
    status,
    show: async (context) => {
      const { realm } = context
      const before = await rowOf(context)
      // A picture that is good for nothing any more makes way for another.
      const known = ['PENDING', 'APPROVED'].includes(statusOf(before)) ? before : undefined
      const asked = known ? undefined : await ask(context, 'qr')
      const row = known ?? asked?.row
      const shown: Shown = {
        send: (reply, page) =>
          pages.qr(reply, {
            ...page,
            text: `${baseUrl}/realms/${realm}/qr/${row?.id}`,
            number: row?.number,
            statusUrl: statusUrl(context),
            error: stepError(page.refusal),
          }),
      }
      return asked ? { ...shown, notes: asked.notes, statements: asked.statements } : shown
    },
    answer: async (context, form) => {
      const asked = context.notes as Asked | undefined
      if (form('check') !== 'true' || !asked) return refused('expired')
      const row = await rowOf(context)
      const said = statusOf(row)
      if (said === 'PENDING') return context.again(asked)
      if (said === 'DENIED') return refused('denied', 401)
      if (!row || said === 'EXPIRED' || row.user_id === null) {
        const { notes, statements } = await ask(context, 'qr')
        return context.again(notes, statements)
      }
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
