/** `iamctl context use`. */

import { own } from '#schemas/own.ts'
import { openStore } from '../../../context/store.ts'
import { CommandError, exitCodes } from '../../../exit.ts'
import { command } from '../../../invocation/command.ts'
import { argument } from '../../../invocation/operand.ts'
import { configFlag } from '../../../invocation/shared-flags.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printJson } from '../../../views/json/json.ts'
import { estateContexts, missingContext } from './known.ts'

export const chooseContext = command({
  name: 'use',
  description: 'make a context of this machine the default',
  help: '\nExample:\n  iamctl context use staging',
  arguments: [argument('<name>')],
  flags: configFlag,
  run: async ({ flags, env }, name) => {
    const store = openStore(env)
    const { contexts } = store.read()
    const estate = await estateContexts(flags.config)
    if (own(contexts, name) === undefined) {
      if (own(estate.contexts, name) === undefined)
        throw missingContext(name, Object.keys(contexts))
      throw new CommandError(exitCodes.error, `context "${name}" is one of ${estate.file}`, {
        hint: `choose it with --context ${name}, IAMCTL_CONTEXT=${name}, or defaultContext in the file`,
      })
    }
    store.change((memory) => ({ ...memory, current: name }))
    return { name, estate }
  },
  views: {
    human:
      () =>
      ({ name, estate }, call) => {
        note(call, `context "${name}" is in use`)
        if (estate.defaultContext)
          note(call, `in this folder ${estate.file} wins, with "${estate.defaultContext}"`)
      },
    json:
      () =>
      ({ name }) =>
        printJson({ context: name }),
  },
})
