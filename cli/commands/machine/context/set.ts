/** `iamctl context set`. */

import { own } from '#schemas/own.ts'
import { serverAddress } from '../../../client/address.ts'
import { type Context, contextOf, openStore } from '../../../context/store.ts'
import { CommandError, exitCodes } from '../../../exit.ts'
import { command } from '../../../invocation/command.ts'
import { text } from '../../../invocation/flags.ts'
import { argument } from '../../../invocation/operand.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printJson } from '../../../views/json/json.ts'

export const setContext = command({
  name: 'set',
  description: 'create or change a context of this machine',
  help: '\nExample:\n  iamctl context set staging --server https://id.staging.example --realm acme',
  arguments: [argument('<name>')],
  flags: {
    server: text('<url>', 'address of the server'),
    realm: text('<name>', 'realm to work on'),
    authRealm: text('<name>', 'realm to sign in to'),
    username: text('<name>', 'user to sign in as'),
  },
  run: ({ flags, env }, name) => {
    const given = contextOf(flags)
    const context: Context =
      given.server === undefined ? given : { ...given, server: serverAddress(given.server) }
    if (Object.keys(context).length === 0)
      throw new CommandError(exitCodes.error, 'no field of the context is given', {
        hint: 'give --server, --realm, --auth-realm or --username',
      })
    const store = openStore(env)
    store.change((memory) => ({
      ...memory,
      current: memory.current ?? name,
      contexts: { ...memory.contexts, [name]: { ...own(memory.contexts, name), ...context } },
    }))
    return { context: name, ...own(store.read().contexts, name) }
  },
  views: {
    human:
      () =>
      ({ context }, call) =>
        note(call, `context "${context}" is kept`),
    json: () => printJson,
  },
})
