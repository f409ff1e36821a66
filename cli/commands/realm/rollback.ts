/** `iamctl rollback`. */

import type { RollbackView } from '../../apply/rollback.ts'
import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, messageFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { revisionArgument } from './history/revision.ts'

export const rollback = conversation({
  name: 'rollback',
  description: 'make a realm equal to an earlier revision',
  help: `
A rollback is a new revision, which can be rolled back too. Restored documents keep their ids and secrets, with two
exceptions that are reported before the change. Deleted users are restored without credentials. A stored secret is never
sent to a host other than the one it was given for, so a provider whose address changes is restored without its secret.
--secrets-from takes both from realm files, such as those of the commit of that revision.
Keys and unmanaged users are not touched. Files are not changed: the next apply applies them again.

Examples:
  iamctl rollback 12 --realm acme --plan
  iamctl rollback 12 --realm acme --secrets-from realms/
  iamctl rollback 12 --realm acme --message "Bad release"`,
  arguments: [revisionArgument('<revision>', 'its number')],
  flags: flags(
    {
      plan: toggle('only show what would change'),
      ...approvalFlag,
      ...messageFlag,
      secretsFrom: text('<path>', 'realm files to take missing secrets from'),
      allowExec: toggle(`run the commands of \${exec:…} secrets`),
      dropSecrets: toggle('restore documents without the secrets that are missing'),
    },
    realmFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/live/rollback.ts')).rollbackView,
    json: async () => (await import('../../views/json/trials.ts')).trialView,
  },
  run: async (call, view: RollbackView, revision) => {
    const place = await openRealm(call)
    const { rollBack } = await import('../../apply/rollback.ts')
    await rollBack(call, place, revision, view)
  },
})
