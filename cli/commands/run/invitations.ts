/** Invitations into organizations: who has one, sending and revoking them. */

import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

const daySeconds = 24 * 60 * 60

export const listInvitations = (invocation: Invocation, organization: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const invitations = await api.invitations.list({ realm, organization })
    if (invocation.output === 'json') return printJson(invitations)
    if (invitations.length === 0)
      return note(invocation, `nobody has an open invitation into ${organization}`)
    return printTable(
      ['invitation', 'address', 'sent', 'good until'],
      invitations.map(({ id, email, createdAt, expiresAt }) => [
        id,
        email,
        moment(createdAt),
        moment(expiresAt),
      ]),
    )
  })

export const createInvitation = (
  invocation: Invocation,
  organization: string,
  email: string,
): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const { days, locale } = invocation.flags
    const invitation = await api.invitations.create(
      { realm, organization },
      {
        email,
        expiration: Number(days) * daySeconds,
        ...(typeof locale === 'string' ? { locale } : {}),
      },
    )
    if (invocation.output === 'json') return printJson(invitation)
    const until = moment(invitation.expiresAt)
    return note(invocation, `${invitation.email} is invited into ${organization} until ${until}`)
  })

export const revokeInvitation = (
  invocation: Invocation,
  organization: string,
  name: string,
): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const open = await api.invitations.list({ realm, organization })
    const folded = name.toLowerCase()
    const found = open.find(({ id, email }) => id === name || email.toLowerCase() === folded)
    if (!found)
      throw new CommandError(
        exitCodes.error,
        `no open invitation "${name}" to organization ${organization}`,
        { hint: `list open invitations: iamctl invitations list ${organization} --realm ${realm}` },
      )
    await api.invitations.revoke({ realm, organization }, found.id)
    if (invocation.output === 'json') printJson({ realm, organization, revoked: found })
    else note(invocation, `the invitation of ${found.email} is revoked`)
  })
