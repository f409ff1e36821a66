/** `iamctl scim status`: how far the SCIM targets of a realm are. */

import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import type { TargetStatus } from '../../views/human/live/scim-status.ts'
import { printJson } from '../../views/json/json.ts'

export const scimStatus = command({
  name: 'status',
  description: 'show the state of SCIM targets: users, waiting changes, failures',
  help: '\nExamples:\n  iamctl scim status --realm acme\n  iamctl scim status chat --realm acme -o json',
  arguments: [
    argument('[target]', 'name or id of a SCIM target; all of them where it is left out'),
  ],
  flags: flags({}, realmFlags),
  run: async (call, target) => {
    const { api, realm } = await openRealm(call)
    const { ScimTarget } = await import('#schemas/kinds/provisioning/scim-target.ts')
    const names =
      target === undefined
        ? (await api.documents.list(realm, ScimTarget)).map(({ key }) => key)
        : [target]
    const targets: TargetStatus[] = []
    for (const name of names)
      targets.push({ target: name, ...(await api.scimTargets.status(realm, name)) })
    return { realm, targets }
  },
  views: {
    human: async () => (await import('../../views/human/live/scim-status.ts')).showScimStatus,
    json:
      () =>
      ({ targets }) =>
        printJson(targets),
  },
})
