/** `iamctl apply`. */

import type { ApplyView } from '../../apply/apply-estate.ts'
import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { readingOf } from '../../invocation/reading.ts'
import { openConnection } from '../../invocation/realm.ts'
import {
  approvalFlag,
  fileFlags,
  messageFlag,
  pathsArgument,
  planFlags,
  serverFlags,
} from '../../invocation/shared-flags.ts'

export const apply = conversation({
  name: 'apply',
  description: 'apply realm files: each realm in one transaction, all or nothing',
  help: `
On a terminal, apply shows the plan and asks; to destroy documents, type the name of the realm.
Each realm is one transaction and one revision, which \`iamctl rollback\` can undo. A second apply changes nothing.

Guards (exit 7): more deletions than --max-deletions, deletion of a \`protected\` document, no realm file left. A saved plan contains its own limit; the stricter limit applies.

Ctrl-C waits up to 10 seconds for the response to a changeset in progress and reports the result: committed as revision N,
not committed, or unknown and how to find out. A second Ctrl-C exits at once. The exit code is 130,
after SIGTERM 143.

Examples:
  iamctl apply
  iamctl apply --auto-approve --message "Release 41"        in a pipeline
  iamctl apply --plan acme.plan                             exactly what was reviewed
  iamctl apply --secrets-out new-secrets.json               of clients that the files give none
  iamctl apply realms/ --overlay overlays/prod --var SHOP=https://shop.example`,
  arguments: [pathsArgument],
  flags: flags(
    fileFlags,
    planFlags,
    {
      plan: text('<file>', 'a saved plan, instead of files'),
      ...approvalFlag,
      ...messageFlag,
      secretsOut: text('<file>', 'file for the secrets generated for new clients; mode 0600'),
      allowEmpty: toggle('apply although no realm file is left'),
      allowUnrelated: toggle('apply although other documents were changed concurrently'),
    },
    serverFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/estate/plan-view.ts')).applyView,
    json: async () => (await import('../../views/json/plan-view.ts')).applyView,
  },
  run: async (call, view: ApplyView, paths) => {
    const { applyEstate } = await import('../../apply/apply-estate.ts')
    const request = { ...readingOf(call, paths, view), flags: call.flags }
    await applyEstate(request, () => openConnection(call))
  },
})
