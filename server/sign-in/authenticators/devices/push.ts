/**
 * A push request to a device of the user. The page shows a number that the user enters on the device (number matching).
 * Against MFA fatigue by an attacker with the password, one request is pending at a time and their number is limited. If only
 * a name was given, the page is the same whether or not a request was sent: it reveals neither devices nor users.
 */

import {
  type ApprovalStatus,
  type Approvals,
  approvalMs,
} from '#server/credentials/devices/approvals.ts'
import type { DeviceAddress, Devices } from '#server/credentials/devices/devices.ts'
import { reachableDevices } from '#server/credentials/devices/reachable-devices.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { signInGuard } from '#server/sessions/begun-sign-ins.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Post } from '#server/users/messages/post.ts'
import {
  type AnswerContext,
  type Answered,
  refused,
  type Shown,
  type Step,
  type StepContext,
  stepError,
} from '../../flow/step.ts'
import { causeOf } from '../../messages/mail-proof.ts'
import { maySendAgain } from '../../messages/sent-code.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { type Asked, createElsewhere, statusUrl } from './questions-elsewhere.ts'

interface Parts {
  readonly pages: SignInPages
  readonly clock: Clock
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly devices: Pick<Devices, 'of' | 'addressesOf'>
  readonly approvals: Approvals
}

const templateKey = 'mfa-push'

export const push = (parts: Parts): Step => {
  const { pages, clock, post, approvals } = parts
  const { ask, rowOf, status, statusOf } = createElsewhere(parts)

  const reachable = async ({ user, view }: StepContext): Promise<DeviceAddress[]> =>
    user ? reachableDevices(parts, view, user, templateKey) : []

  const send = async (context: StepContext, pushId: string): Promise<Statement[]> => {
    const { realm, user } = context
    if (!user) return []
    const letter = {
      realm,
      user,
      channel: 'PUSH',
      templateKey,
      values: {},
      data: { pushId, realm },
      cause: causeOf(context),
      expiresAt: clock.now() + approvalMs,
    } as const
    return (await reachable(context)).flatMap(({ token, driver }) =>
      post.statements({ ...letter, to: token, driver }),
    )
  }

  const toNowhere = (context: StepContext): Statement[] =>
    post.statements({
      realm: context.realm,
      to: undefined,
      channel: 'PUSH',
      templateKey,
      values: {},
      cause: causeOf(context),
      expiresAt: clock.now() + approvalMs,
    })

  const hasOnlyName = ({ state }: StepContext): boolean => state.amr.length === 0

  const askAnew = async (context: StepContext, sendings: number) => {
    const { row, notes, statements } = await ask(context, 'push', sendings)
    return { row, notes, statements: [...statements, ...(await send(context, row.id))] }
  }

  /** A decoy request without a device, which cannot be answered. */
  const decoy = async (context: StepContext, sendings: number) => {
    const asked = await ask({ ...context, user: undefined }, 'push', sendings)
    return { ...asked, statements: [...asked.statements, ...toNowhere(context)] }
  }

  /** Undefined where the user was asked too often, or a request is pending, and the page may reveal that. */
  const question = async (context: StepContext, sendings: number) => {
    const { user } = context
    const mayAsk =
      user !== undefined &&
      (await approvals.mayAsk(user.id)) &&
      (await reachable(context)).length > 0
    if (mayAsk) return askAnew(context, sendings)
    return hasOnlyName(context) ? decoy(context, sendings) : undefined
  }

  /** A pending request is sent again unchanged; one that has ended is replaced by a new one. */
  const resend = async (context: AnswerContext): Promise<Answered> => {
    const before = context.notes as Asked | undefined
    if (before && !maySendAgain(before, clock.now())) return refused('too-many', 429)
    const row = await rowOf(context)
    const sendings = (before?.sendings ?? 0) + 1
    const isWaiting = before !== undefined && row && statusOf(row) === 'PENDING'
    const asked = isWaiting
      ? {
          notes: { ...before, sendings, sentAt: clock.now() },
          statements: row.user_id === null ? toNowhere(context) : await send(context, row.id),
        }
      : await question(context, sendings)
    if (!asked) return refused('too-many', 429)
    const again = await context.again(asked.notes, asked.statements)
    post.wake()
    return again
  }

  /** Reports the outcome to the page once, after which the page no longer polls. */
  const ended = async (context: AnswerContext, status: ApprovalStatus): Promise<Answered> => {
    const asked = context.notes as Asked
    if (!asked.over) await context.keep({ ...asked, over: true })
    return refused(status === 'DENIED' ? 'denied' : 'expired', 401)
  }

  return {
    id: 'push',
    amr: 'swk',
    factor: true,
    blind: true,
    suits: async ({ user }) => user !== undefined && (await parts.devices.of(user.id)).length > 0,
    works: async (context) =>
      hasOnlyName(context)
        ? (await parts.messaging.ready(context.view, { channel: 'PUSH', templateKey })).ready
        : (await reachable(context)).length > 0,
    outage: 'device-unreachable',
    status,
    show: async (context) => {
      const known = context.notes as Asked | undefined
      const asked = known ? undefined : await question(context, 1)
      const row = asked?.row ?? (await rowOf(context))
      const number = row && statusOf(row) === 'PENDING' ? row.number : undefined
      const shown: Shown = {
        send: (reply, page) =>
          pages.push(reply, {
            ...page,
            number,
            statusUrl: statusUrl(context),
            error: stepError(page.refusal) ?? (known || asked ? undefined : 'too-many'),
          }),
      }
      if (!asked) return shown
      return { ...shown, notes: asked.notes, statements: asked.statements, stored: post.wake }
    },
    answer: async (context, form) => {
      if (form('step') === 'resend') return resend(context)
      const row = await rowOf(context)
      if (form('check') !== 'true' || !context.notes) return refused('expired')
      const said = statusOf(row)
      if (said === 'PENDING') return context.again(context.notes)
      if (!row || said !== 'APPROVED' || row.user_id !== context.user?.id)
        return ended(context, said)
      return context.pass({ statements: approvals.use(row, signInGuard) })
    },
  }
}
