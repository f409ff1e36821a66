/** The changes that an apply of files would send for one realm, for questions about the realm as it would be. */

import type { ChangesetRequest } from '#schemas/wire/wire.ts'
import type { Api } from '../../client/api.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { dryRunOf } from '../changeset.ts'
import { hasWork } from '../plan.ts'
import { planFiles, planningOptions, type Reading, refuseUnplanned, validFiles } from './estate.ts'

/** Undefined where the realm is as the files say already. */
export const plannedChangeset = async (
  reading: Reading,
  {
    api,
    realm,
    source,
  }: { readonly api: Api; readonly realm: string; readonly source: string | undefined },
): Promise<ChangesetRequest | undefined> => {
  const files = await validFiles(reading, { mayLackSecrets: true })
  const options = planningOptions({ source }, files, { history: false, dryRun: 'never' })
  const wanted = files.wanted.filter(({ loaded }) => loaded.realm === realm)
  if (wanted.length === 0)
    throw new CommandError(exitCodes.error, `the files do not contain realm ${realm}`, {
      hint: 'name other paths, or another realm with --realm',
    })
  const planned = await planFiles({ view: reading.view }, api, { ...files, wanted }, options)
  refuseUnplanned(planned)
  const [plan] = planned.plan.realms
  if (!plan || !hasWork(plan)) return undefined
  const { secretOf } = files
  return dryRunOf(plan, { ...options, provenance: {}, allowUnrelated: true, secretOf })
}
