/** `iamctl context delete`. */

import { own } from '#schemas/own.ts'
import { openStore } from '../../../context/store.ts'
import { command } from '../../../invocation/command.ts'
import { argument } from '../../../invocation/operand.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printJson } from '../../../views/json/json.ts'
import { missingContext } from './known.ts'

export const deleteContext = command({
  name: 'delete',
  description: 'delete a context of this machine',
  help: '\nExample:\n  iamctl context delete staging',
  arguments: [argument('<name>')],
  run: ({ env }, name) => {
    const store = openStore(env)
    const { contexts } = store.read()
    if (own(contexts, name) === undefined) throw missingContext(name, Object.keys(contexts))
    store.change((memory) => ({
      ...memory,
      current: memory.current === name ? null : memory.current,
      contexts: Object.fromEntries(
        Object.entries(memory.contexts).filter(([other]) => other !== name),
      ),
    }))
    return { context: name, deleted: true }
  },
  views: {
    human:
      () =>
      ({ context }, call) =>
        note(
          call,
          `context "${context}" is forgotten; its session is not: \`iamctl logout\` ends that`,
        ),
    json: () => printJson,
  },
})
