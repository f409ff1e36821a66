/** `iamctl plan`. */

import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { readingOf } from '../../invocation/reading.ts'
import { openConnection } from '../../invocation/realm.ts'
import { fileFlags, pathsArgument, planFlags, serverFlags } from '../../invocation/shared-flags.ts'
import type { PlanView } from '../../planning/estate/plan-estate.ts'
import { note } from '../../views/human/elements/note.ts'

export const plan = conversation({
  name: 'plan',
  description: 'show what an apply would change, field by field',
  help: `
A plan changes nothing. It takes one request if nothing differs, three at most. A client with adminAccess: plan needs no
secret of the files: secrets from variables that are not set are shown as unknown, and applying the saved plan needs them.
A saved plan contains no secret, is bound to its revision and refused if the realm has changed since. It keeps its limit of
deletions. It may be stored in the folder of the estate, under any name: commands recognise it by its content and skip it.

-o markdown always writes a document for a comment on a pull request, also for a failure. A plan that is too long for a
comment lists all deletions and counts the changes that it omits.

Examples:
  iamctl plan                                      the paths of iamctl.yaml, else realms/
  iamctl plan realms/acme.yaml --out acme.plan     save it; then \`iamctl apply --plan acme.plan\`
  iamctl plan --interactive                        go through it; approving it applies it
  iamctl plan --overlay overlays/prod --detailed-exitcode
  iamctl plan -o markdown > comment.md             for a pull request
  iamctl plan --target client/web`,
  arguments: [pathsArgument],
  flags: flags(
    fileFlags,
    planFlags,
    {
      interactive: toggle('browse the plan on a screen: open, search, approve'),
      out: text('<file>', 'save the plan'),
      detailedExitcode: toggle('exit with code 2 if there are changes'),
    },
    serverFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/estate/plan-view.ts')).planView(),
    json: async () => (await import('../../views/json/plan-view.ts')).planView,
    markdown: async () => (await import('../../views/markdown/plan-view.ts')).planView('plan'),
  },
  failed: (view, error) => view.failed?.(error),
  run: async (call, view: PlanView, paths) => {
    const { planEstate } = await import('../../planning/estate/plan-estate.ts')
    const reading = readingOf(call, paths, view)
    return planEstate({
      ...reading,
      flags: call.flags,
      connect: () => openConnection(call),
      note: (words) => note(call, words),
      approved: async ({ api }, approved, files) => {
        const { applyApproved, readyFrom } = await import('../../apply/apply-estate.ts')
        const { applyView } = await import('../../views/human/estate/plan-view.ts')
        const request = { ...reading, flags: call.flags, view: applyView }
        await applyApproved(request, api, readyFrom(approved, files))
      },
    })
  },
})
