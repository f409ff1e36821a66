/** `iamctl server …`: what runs and maintains the identity server. */

import { Help } from 'commander'
import { addCommand } from '../../invocation/command.ts'
import { backup } from './backup.ts'
import { checkConfig } from './check-config.ts'
import { migrate } from './migrate.ts'
import { resetAdmin } from './reset-admin.ts'
import { restore } from './restore.ts'
import { rotateMasterKey } from './rotate-master-key.ts'
import { start, startHelp } from './start.ts'

export const server = addCommand('server', (program) => {
  const group = program.command('server').description('run and maintain the identity server')
  const started = start(group)
  // Its own help is that of what it does by default, and the list of its commands.
  group.addHelpText('after', startHelp).configureHelp({
    sortSubcommands: true,
    visibleOptions: (command) => new Help().visibleOptions(command === group ? started : command),
  })
  for (const add of [rotateMasterKey, checkConfig, backup, restore, migrate, resetAdmin]) add(group)
  return group
})
