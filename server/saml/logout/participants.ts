/** The service providers of a logout: the channel by which each is notified, and its state. */

import type { SamlSessionKey, SamlSessions } from '#server/sessions/saml-sessions.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { optionsOf, type ServiceProvider, serviceProviderById } from '../service-provider.ts'
import type { StoredLogout } from './logouts.ts'

/** `none` has no address for logout messages. */
export type Channel = 'front' | 'back' | 'none'

export const soapUrlOf = ({ doc }: ServiceProvider): string | undefined =>
  doc.singleLogoutServiceSoapUrl ?? doc.singleLogoutServiceUrl

export const channelOf = (issuer: Issuer, provider: ServiceProvider): Channel => {
  if (optionsOf(issuer, provider).backChannelSloEnabled && soapUrlOf(provider) !== undefined)
    return 'back'
  return provider.doc.singleLogoutServiceUrl === undefined ? 'none' : 'front'
}

export type State =
  /** It has confirmed the logout. */
  | 'done'
  | 'waiting'
  /** A job tells it, and tries again until it has arrived. */
  | 'background'
  /** It has refused, has not answered in time, or cannot be told. */
  | 'failed'
  /** A page of it was framed, which gives no answer. */
  | 'asked'

export interface Participant extends SamlSessionKey {
  readonly provider: ServiceProvider
  readonly channel: Channel
  /** Which of the logout's participants it is. */
  readonly index: number
  readonly state: State
  /** The ID of the LogoutRequest that it has still to answer. */
  readonly requestId: string | null
}

export interface Progress {
  readonly participants: readonly Participant[]
  readonly isPending: boolean
  /** Whether some have not confirmed it. */
  readonly isPartial: boolean
}

/** Milliseconds that the applications have to answer before the browser goes on. */
export const patienceMs = 5000
/** Milliseconds that the framed pages of other protocols have, which give no answer. */
const framedMs = 2000

export const createParticipants = (samlSessions: Pick<SamlSessions, 'ofSessions'>) => {
  const stateOf = (
    row: { readonly logout_request: string | null } | undefined,
    channel: Channel,
    { begunAt, now }: { readonly begunAt: number | null; readonly now: number },
  ): State => {
    if (!row) return 'done'
    if (channel === 'none') return 'failed'
    const isOver = begunAt !== null && now - begunAt >= patienceMs
    if (channel === 'back') return isOver ? 'background' : 'waiting'
    const isAnswered = begunAt !== null && row.logout_request === null
    return isOver || isAnswered ? 'failed' : 'waiting'
  }

  return async (
    issuer: Issuer,
    { participants, frames, begunAt }: Pick<StoredLogout, 'participants' | 'frames' | 'begunAt'>,
    now: number,
  ): Promise<Progress> => {
    const rows = await samlSessions.ofSessions([...new Set(participants.map(({ sid }) => sid))])
    const found = await Promise.all(
      participants.map(async ({ sid, providerId }, index): Promise<Participant[]> => {
        const provider = await serviceProviderById(issuer, providerId)
        // What is gone has no session any more.
        if (!provider) return []
        const channel = channelOf(issuer, provider)
        const row = rows.find((one) => one.sid === sid && one.client_id === providerId)
        const state = stateOf(row, channel, { begunAt, now })
        const requestId = row?.logout_request ?? null
        return [{ sid, providerId, provider, channel, index, state, requestId }]
      }),
    )
    const all = found.flat()
    const isFraming = frames.length > 0 && (begunAt === null || now - begunAt < framedMs)
    return {
      participants: all,
      isPending: isFraming || all.some(({ state }) => state === 'waiting'),
      isPartial: all.some(({ state }) => state !== 'done'),
    }
  }
}

export type ProgressOf = ReturnType<typeof createParticipants>
