/** `iamctl history show`. */

import { command } from '../../../invocation/command.ts'
import { openRealm } from '../../../invocation/realm.ts'
import { realmFlags } from '../../../invocation/shared-flags.ts'
import { printJson } from '../../../views/json/json.ts'
import { revisionArgument } from './revision.ts'

export const showRevision = command({
  name: 'show',
  description: 'show what a revision changed',
  help: '\nExamples:\n  iamctl history show 12 --realm acme',
  arguments: [revisionArgument('<revision>', 'its number')],
  flags: realmFlags,
  run: async (call, revision) => {
    const { api, realm } = await openRealm(call)
    return api.revision(realm, revision)
  },
  views: {
    human: async () => (await import('../../../views/human/live/history.ts')).showRevision,
    json: () => printJson,
  },
})
