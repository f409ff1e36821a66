/** `iamctl history diff`. */

import { command } from '../../../invocation/command.ts'
import { openRealm } from '../../../invocation/realm.ts'
import { realmFlags } from '../../../invocation/shared-flags.ts'
import { printJson } from '../../../views/json/json.ts'
import { revisionArgument } from './revision.ts'

export const diffRevisions = command({
  name: 'diff',
  description: 'show what differs between two revisions',
  help: '\nExamples:\n  iamctl history diff 12 17 --realm acme',
  arguments: [revisionArgument('<from>', 'a revision'), revisionArgument('<to>', 'another one')],
  flags: realmFlags,
  run: async (call, from, to) => {
    const { api, realm } = await openRealm(call)
    const { actualOf } = await import('../../../planning/actual.ts')
    const { changesBetween } = await import('../../../planning/between.ts')
    const stateAt = async (revision: number) =>
      actualOf(await api.exportRealm(realm, { builtIns: true, revision }))
    return { realm, from, to, changes: changesBetween(await stateAt(from), await stateAt(to)) }
  },
  views: {
    human: async () => (await import('../../../views/human/live/history.ts')).showDifference,
    json: () => printJson,
  },
})
