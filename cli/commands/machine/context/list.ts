/** `iamctl context list`. */

import { own } from '#schemas/own.ts'
import { openStore } from '../../../context/store.ts'
import { targetOf } from '../../../context/target.ts'
import { command } from '../../../invocation/command.ts'
import { configFlag } from '../../../invocation/shared-flags.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printTable } from '../../../views/human/elements/table.ts'
import { printJson } from '../../../views/json/json.ts'
import { estateContexts } from './known.ts'

export const listContexts = command({
  name: 'list',
  description: 'list the contexts of this machine and of ./iamctl.yaml',
  help: '\nExample:\n  iamctl context list',
  flags: configFlag,
  run: async ({ flags, env }) => {
    const memory = openStore(env).read()
    const estate = await estateContexts(flags.config)
    const { context: used } = targetOf({ env, flags: {}, estate, memory })
    return [
      ...Object.entries(estate.contexts).map(([name, context]) => ({
        name,
        ...context,
        from: estate.file ?? '',
      })),
      ...Object.entries(memory.contexts)
        .filter(([name]) => own(estate.contexts, name) === undefined)
        .map(([name, context]) => ({ name, ...context, from: 'this machine' })),
    ].map((row) => ({ ...row, used: row.name === used }))
  },
  views: {
    human: () => (rows, call) =>
      rows.length === 0
        ? note(call, 'there are none yet: `iamctl login` makes one, and `iamctl context set`')
        : printTable(
            ['', 'name', 'server', 'realm', 'auth realm', 'username', 'from'],
            rows.map(({ used, name, server, realm, authRealm, username, from }) => [
              used ? '*' : '',
              name,
              server ?? '',
              realm ?? '',
              authRealm ?? '',
              username ?? '',
              from,
            ]),
          ),
    json: () => printJson,
  },
})
