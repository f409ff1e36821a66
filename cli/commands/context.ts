/** `iamctl context …`: names and flags. */

import { type Command, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions } from './options.ts'

const config = (): Option =>
  new Option('--config <file>', 'file to use instead of ./iamctl.yaml (IAMCTL_CONFIG)')

export const addContext = (program: Command): void => {
  const context = program
    .command('context')
    .description('manage contexts: named servers and realms')
  const commands = [
    context
      .command('list')
      .description('contexts of this machine and of ./iamctl.yaml')
      .addOption(config())
      .addHelpText('after', '\nExample:\n  iamctl context list')
      .action(async (_flags, command: Command) => {
        const { listContexts } = await import('./run/context.ts')
        await listContexts(invocationOf(command))
      }),
    context
      .command('use')
      .description('make a context of this machine the default')
      .argument('<name>')
      .addOption(config())
      .addHelpText('after', '\nExample:\n  iamctl context use staging')
      .action(async (name: string, _flags, command: Command) => {
        const { chooseContext } = await import('./run/context.ts')
        await chooseContext(invocationOf(command), name)
      }),
    context
      .command('set')
      .description('create or change a context of this machine')
      .argument('<name>')
      .option('--server <url>', 'address of the server')
      .option('--realm <name>', 'realm to work on')
      .option('--auth-realm <name>', 'realm to sign in to')
      .option('--username <name>', 'user to sign in as')
      .addHelpText(
        'after',
        '\nExample:\n  iamctl context set staging --server https://id.staging.example --realm acme',
      )
      .action(async (name: string, _flags, command: Command) => {
        const { setContext } = await import('./run/context.ts')
        setContext(invocationOf(command), name)
      }),
    context
      .command('delete')
      .description('delete a context of this machine')
      .argument('<name>')
      .addHelpText('after', '\nExample:\n  iamctl context delete staging')
      .action(async (name: string, _flags, command: Command) => {
        const { deleteContext } = await import('./run/context.ts')
        deleteContext(invocationOf(command), name)
      }),
  ]
  for (const command of commands) addOutputOptions(command)
}
