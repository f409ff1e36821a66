/** `iamctl history list`. */

import { InvalidArgumentError } from 'commander'
import { command } from '../../../invocation/command.ts'
import { flags, parsed } from '../../../invocation/flags.ts'
import { openRealm } from '../../../invocation/realm.ts'
import { realmFlags } from '../../../invocation/shared-flags.ts'
import { printJson } from '../../../views/json/json.ts'
import { revision } from './revision.ts'

const count = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It is a whole number above 0.')
  return value
}

export const listRevisions = command({
  name: 'list',
  isDefault: true,
  description: 'list the latest revisions (this is what plain `iamctl history` does)',
  help: '\nExamples:\n  iamctl history --realm acme --limit 50',
  flags: flags(
    {
      limit: parsed('<number>', 'number of revisions', count, { fallback: '20' }),
      before: parsed('<revision>', 'only older ones', revision),
    },
    realmFlags,
  ),
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    const { limit: max = 20, before } = call.flags
    const revisions = await api.revisions(realm, {
      max,
      ...(before === undefined ? {} : { before }),
    })
    return { realm, revisions }
  },
  views: {
    human: async () => (await import('../../../views/human/live/history.ts')).showRevisions,
    json:
      () =>
      ({ revisions }) =>
        printJson(revisions),
  },
})
