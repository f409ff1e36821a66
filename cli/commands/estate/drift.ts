/** `iamctl drift`. */

import { conversation } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { readingOf } from '../../invocation/reading.ts'
import { openConnection } from '../../invocation/realm.ts'
import { fileFlags, pathsArgument, serverFlags } from '../../invocation/shared-flags.ts'
import type { PlanView } from '../../planning/estate/plan-estate.ts'

export const drift = conversation({
  name: 'drift',
  description: 'show differences from the files, with author and time',
  help: `
Exits with code 2 if there are differences, for use on a schedule.

Examples:
  iamctl drift
  iamctl drift realms/ -o json`,
  arguments: [pathsArgument],
  flags: flags(fileFlags, serverFlags),
  views: {
    human: async () => (await import('../../views/human/estate/plan-view.ts')).planView(),
    json: async () => (await import('../../views/json/plan-view.ts')).planView,
    markdown: async () => (await import('../../views/markdown/plan-view.ts')).planView('drift'),
  },
  failed: (view, error) => view.failed?.(error),
  run: async (call, view: PlanView, paths) => {
    const { driftEstate } = await import('../../planning/estate/plan-estate.ts')
    const connect = () => openConnection(call)
    return driftEstate({ ...readingOf(call, paths, view), flags: call.flags, connect })
  },
})
