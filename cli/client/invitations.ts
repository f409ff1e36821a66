/** Calls about invitations into organizations. */

import type { InvitationRecord } from '#schemas/wire/records.ts'
import { type Call, path } from './http/call.ts'

export interface NewInvitation {
  readonly email: string
  /** Seconds that it is good for. */
  readonly expiration: number
  readonly locale?: string
}

/** Into which organization, by alias or id. */
export interface InvitationPlace {
  readonly realm: string
  readonly organization: string
}

const all = ({ realm, organization }: InvitationPlace): string =>
  path`/admin/realms/${realm}/organizations/${organization}/invitations`

export const invitationCalls = (call: Call) => ({
  /** Those that can still be accepted, the latest first. */
  async list(place: InvitationPlace): Promise<readonly InvitationRecord[]> {
    return (await call<InvitationRecord[]>('GET', all(place))).body
  },
  async create(place: InvitationPlace, invitation: NewInvitation): Promise<InvitationRecord> {
    return (await call<InvitationRecord>('POST', all(place), { json: invitation })).body
  },
  async revoke(place: InvitationPlace, id: string): Promise<void> {
    await call('DELETE', all(place) + path`/${id}`)
  },
})
