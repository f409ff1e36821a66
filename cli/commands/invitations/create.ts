/** `iamctl invitations create`. */

import { InvalidArgumentError } from 'commander'
import { command } from '../../invocation/command.ts'
import { flags, parsed, text, withDefault } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import { organizationArgument } from './place.ts'

const mostDays = 30
const daySeconds = 24 * 60 * 60

const days = (given: string): number => {
  const value = Number(given)
  if (!Number.isInteger(value) || value < 1 || value > mostDays)
    throw new InvalidArgumentError(`A whole number of days, ${mostDays} at most.`)
  return value
}

export const createInvitation = command({
  name: 'create',
  description: 'send an invitation; it replaces an earlier one to the same address',
  help: `
Only the mail contains the link. Only the account with that address can accept the invitation; a person without an
account can register with that address.

Examples:
  iamctl invitations create globex ines@globex.example --realm acme
  iamctl invitations create globex ines@globex.example --realm acme --days 2 --locale nl`,
  arguments: [organizationArgument, argument('<email>', 'address that the link goes to')],
  flags: flags(
    {
      days: withDefault(parsed('<number>', 'days for which the invitation is valid', days), 7),
      locale: text('<tag>', 'language of the mail', { fallback: 'the language of the realm' }),
    },
    realmFlags,
  ),
  run: async (call, organization, email) => {
    const { api, realm } = await openRealm(call)
    const { days: number, locale } = call.flags
    const invitation = await api.invitations.create(
      { realm, organization },
      {
        email,
        expiration: number * daySeconds,
        ...(locale === undefined ? {} : { locale }),
      },
    )
    return { organization, invitation }
  },
  views: {
    human:
      () =>
      ({ organization, invitation }, call) =>
        note(
          call,
          `${invitation.email} is invited into ${organization} until ${moment(invitation.expiresAt)}`,
        ),
    json:
      () =>
      ({ invitation }) =>
        printJson(invitation),
  },
})
