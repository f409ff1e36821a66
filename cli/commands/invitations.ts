/** `iamctl invitations …`: names and flags. */

import { type Command, InvalidArgumentError } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const organization = ['<organization>', 'alias or id of the organization'] as const
const mostDays = 30

const days = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > mostDays)
    throw new InvalidArgumentError(`A whole number of days, ${mostDays} at most.`)
  return value
}

export const addInvitations = (program: Command): void => {
  const invitations = program
    .command('invitations')
    .description('manage invitations to an organization')
  const list = invitations
    .command('list')
    .description('invitations that can still be accepted, the latest first')
    .argument(...organization)
    .addHelpText('after', '\nExample:\n  iamctl invitations list globex --realm acme')
    .action(async (alias: string, _flags, command: Command) => {
      const { listInvitations } = await import('./run/invitations.ts')
      await listInvitations(invocationOf(command), alias)
    })
  const create = invitations
    .command('create')
    .description('send an invitation; it replaces an earlier one to the same address')
    .argument(...organization)
    .argument('<email>', 'address that the link goes to')
    .option('--days <number>', 'days for which the invitation is valid', days, 7)
    .option('--locale <tag>', "language of the mail; the realm's unless it is given")
    .addHelpText(
      'after',
      `
Only the mail contains the link. Only the account with that address can accept the invitation; a person without an
account can register with that address.

Examples:
  iamctl invitations create globex ines@globex.example --realm acme
  iamctl invitations create globex ines@globex.example --realm acme --days 2 --locale nl`,
    )
    .action(async (alias: string, email: string, _flags, command: Command) => {
      const { createInvitation } = await import('./run/invitations.ts')
      await createInvitation(invocationOf(command), alias, email)
    })
  const revoke = invitations
    .command('revoke')
    .description('revoke an invitation')
    .argument(...organization)
    .argument('<invitation>', 'id, or the address that it went to')
    .addHelpText(
      'after',
      '\nExample:\n  iamctl invitations revoke globex ines@globex.example --realm acme',
    )
    .action(async (alias: string, name: string, _flags, command: Command) => {
      const { revokeInvitation } = await import('./run/invitations.ts')
      await revokeInvitation(invocationOf(command), alias, name)
    })
  for (const command of [list, create, revoke]) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
