/** `iamctl events`: names and flags. */

import { type Command, Option } from 'commander'
import { limit } from './get.ts'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

export const addEvents = (program: Command): void => {
  const events = program
    .command('events')
    .description('show the audit trail of a realm, newest last')
    .option('--type <type>', 'such as LOGIN_FAILURE or ADMIN_UPDATE')
    .option('--actor <user>', 'user who caused the event: username, email address or id')
    .addOption(new Option('--outcome <outcome>', 'how it ended').choices(['SUCCESS', 'FAILURE']))
    .option('--category <category>', 'AUTHN, ADMIN or SECURITY')
    .option('--from <time>', '2026-01-31, 2026-01-31T08:00:00Z, or ago: 15m, 2h, 7d')
    .option('--to <time>', 'the same')
    .option('--limit <number>', 'number of newest events, or "all"; 50 unless given', limit)
    .option('-f, --follow', 'print new events until Ctrl-C, after the last 10')
    .addHelpText(
      'after',
      `
With -o json every line is one event.

Examples:
  iamctl events --realm acme --type LOGIN_FAILURE --from 1h
  iamctl events --realm acme --category ADMIN --actor alice --limit 10
  iamctl events --realm acme --follow --category SECURITY
  iamctl events --realm acme -f --outcome FAILURE -o json | jq .detail
  iamctl events --realm acme --from 7d --limit all -o json > events.ndjson`,
    )
    .action(async (_flags, command: Command) => {
      const { events: run } = await import('./run/events/events.ts')
      await run(invocationOf(command))
    })
  const verify = events
    .command('verify')
    .description('check that no event was changed, removed or inserted since it was sealed')
    .option('--known <hash>', 'hash from an earlier check, which the trail must still contain')
    .addHelpText(
      'after',
      `
The server seals events every 5 minutes, after 1,000 events and when it stops; the number of newer, unchecked events is
printed. A trail that was tampered with is an error that names the first event. Store the printed hash elsewhere and
give it with --known the next time: only that detects a trail that was cut off at its end.

Examples:
  iamctl events verify --realm acme
  iamctl events verify --realm acme --known 3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`,
    )
    .action(async (_flags, command: Command) => {
      const { verifyEvents } = await import('./run/events/verify-events.ts')
      await verifyEvents(invocationOf(command))
    })
  for (const command of [events, verify]) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
