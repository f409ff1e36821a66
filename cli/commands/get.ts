/** `iamctl get`: names and flags. */

import { type Command, InvalidArgumentError } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

/** A number of things, or all of them. */
export const limit = (text: string): number => {
  if (text === 'all') return Number.POSITIVE_INFINITY
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('A number, or "all".')
  return value
}

export const addGet = (program: Command): void => {
  const get = program
    .command('get')
    .description('show documents of a realm')
    .argument('[kind]', 'such as clients; without it, the kinds there are')
    .argument('[key]', 'natural key or id: web, /Staff/Helpdesk, web/reader')
    .option('--search <text>', 'users only: prefix of the username or email address')
    .option('--limit <number>', 'users only: number of results, or "all"; 100 unless given', limit)
    .addHelpText(
      'after',
      `
Examples:
  iamctl get clients --realm acme
  iamctl get client web --realm acme -o yaml
  iamctl get users --realm acme --search ali -o json
  iamctl get client-role web/reader --realm acme`,
    )
    .action(async (kind: string | undefined, key: string | undefined, _flags, command: Command) => {
      const { get: run } = await import('./run/get.ts')
      await run(invocationOf(command), kind, key)
    })
  addRealmOptions(get)
  addOutputOptions(get, ['human', 'json', 'yaml'])
}
