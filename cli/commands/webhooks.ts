/** `iamctl webhooks …`: names and flags. */

import { type Command, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const webhook = ['<webhook>', 'name or id of the webhook'] as const
const statuses = ['pending', 'delivered', 'failed']

export const addWebhooks = (program: Command): void => {
  const webhooks = program
    .command('webhooks')
    .description('inspect, repeat and test deliveries of webhooks')
  const deliveries = webhooks
    .command('deliveries')
    .description('list the deliveries of a webhook, newest first')
    .argument(...webhook)
    .addOption(new Option('--status <status>', 'only those').choices(statuses))
    .option('--limit <number>', 'maximum of results', '50')
    .addHelpText(
      'after',
      '\nExample:\n  iamctl webhooks deliveries siem --realm acme --status failed',
    )
    .action(async (name: string, _flags, command: Command) => {
      const { listDeliveries } = await import('./run/webhooks.ts')
      await listDeliveries(invocationOf(command), name)
    })
  const redeliver = webhooks
    .command('redeliver')
    .description('send deliveries again now, with the same id')
    .argument(...webhook)
    .argument('[id]', 'of the delivery')
    .option('--failed', 'all failed deliveries')
    .addHelpText(
      'after',
      `
Examples:
  iamctl webhooks redeliver siem 0198c0de-0000-7000-8000-000000000000 --realm acme
  iamctl webhooks redeliver siem --failed --realm acme`,
    )
    .action(async (name: string, id: string | undefined, _flags, command: Command) => {
      const run = await import('./run/webhooks.ts')
      await run.redeliver(invocationOf(command), name, id)
    })
  const test = webhooks
    .command('test')
    .description('send a signed test delivery; a delivery that does not arrive is an error')
    .argument(...webhook)
    .addHelpText('after', '\nExample:\n  iamctl webhooks test siem --realm acme')
    .action(async (name: string, _flags, command: Command) => {
      const { testWebhook } = await import('./run/webhooks.ts')
      await testWebhook(invocationOf(command), name)
    })
  const secret = webhooks
    .command('secret')
    .description(
      'generate a new secret and print it once; the old secret also signs for one more day',
    )
    .argument(...webhook)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  iamctl webhooks secret siem --realm acme --yes')
    .action(async (name: string, _flags, command: Command) => {
      const { webhookSecret } = await import('./run/webhooks.ts')
      await webhookSecret(invocationOf(command), name)
    })
  for (const command of [deliveries, redeliver, test, secret]) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
