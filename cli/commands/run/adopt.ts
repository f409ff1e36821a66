/** Writes what is live into the files: asks for the realms as they are, edits, checks, saves. */

import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Place } from '#schemas/wire/wire.ts'
import { type AdoptOutcome, adopt } from '../../adopt/adopt.ts'
import { filesOf } from '../../adopt/differences.ts'
import { saveFiles } from '../../adopt/save.ts'
import type { Api } from '../../client/api.ts'
import { isProblem } from '../../client/http/errors.ts'
import { hasErrors } from '../../diagnostics.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { sourceNameOf } from '../../load/estate.ts'
import type { LoadedRealm } from '../../load/loaded.ts'
import { type Actual, actualOf } from '../../planning/actual.ts'
import { fileOptions, listOf, refuseInvalid } from '../../planning/estate/estate.ts'
import { readFiles } from '../../planning/estate/files.ts'
import { nameOf } from '../../planning/names.ts'
import { parseTarget } from '../../planning/target.ts'
import { showAdopted, showDiffs } from '../../views/human/adopt.ts'
import { printAdopted } from '../../views/json/adopt.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { withConnection } from './connection.ts'

const placesOf = (names: readonly string[]): Place[] =>
  names.map((name) => {
    const place = parseTarget(name)
    if (place) return place
    throw new CommandError(exitCodes.error, `${name} is not the name of a document`, {
      hint: 'write KIND/KEY, such as client/web or group/Staff; name files with --path',
    })
  })

/** The realm as it is, in the sections that matter. */
const actualRealm = async (
  api: Api,
  loaded: LoadedRealm,
  names: readonly Place[],
): Promise<Actual> => {
  const { desired, listings } = filesOf(loaded)
  const kinds = [
    ...[...desired, ...listings].map(({ kind }) => kind),
    ...names.map(({ kind }) => kindNamed(kind)),
  ]
  const sections = [...new Set(kinds.map(sectionOf))]
  try {
    return actualOf(await api.exportRealm(loaded.realm, { builtIns: true, sections }), sections)
  } catch (error) {
    if (!isProblem(error, 404)) throw error
    throw new CommandError(exitCodes.error, `no such realm ${loaded.realm} at ${api.server}`, {
      hint: 'create it with `iamctl apply`',
      cause: error,
    })
  }
}

/** What must not be saved. */
const refuseOutcome = (invocation: Invocation, outcome: AdoptOutcome): void => {
  const { unknown, problems, diagnostics, textOf: textOfFile } = outcome
  const [first] = unknown
  if (first)
    throw new CommandError(
      exitCodes.invalid,
      `there is no ${nameOf(first.kind, first.key)}, neither in the files nor in the realm`,
      { hint: 'list the documents of the realm with `iamctl get KIND`' },
    )
  if (hasErrors(diagnostics))
    refuseInvalid(
      invocation,
      { loaded: { realms: [], diagnostics, textOf: textOfFile } },
      diagnostics,
      {
        message: 'with what is live the files would not be valid',
        hint: 'nothing was written; also name the documents that this one refers to, they must be in the files too',
      },
    )
  if (problems.length > 0)
    throw new CommandError(
      exitCodes.guarded,
      'the change would affect documents that were not named',
      {
        hint: `nothing was written: ${problems.join('; ')}`,
      },
    )
}

export const adoptLive = async (
  invocation: Invocation,
  names: readonly string[],
): Promise<void> => {
  const { flags } = invocation
  const places = placesOf(names)
  const options = fileOptions(invocation, listOf(flags['path']))
  if (options.paths.includes('-'))
    throw new CommandError(exitCodes.error, 'standard input cannot be written to', {
      hint: 'name files with --path',
    })
  const read = await readFiles(options)
  if (hasErrors(read.diagnostics)) refuseInvalid(invocation, read, read.diagnostics)
  const { estate, loaded } = read
  const outcome = await withConnection(invocation, async ({ api }) => {
    const actual = new Map<string, Actual>()
    for (const realm of loaded.realms)
      actual.set(realm.realm, await actualRealm(api, realm, places))
    return adopt({
      files: options,
      source: sourceNameOf(textOf(invocation, 'source', 'IAMCTL_SOURCE'), estate),
      prune: estate.prune === 'all' ? 'all' : 'owned',
      names: places,
      unmanaged: flags['unmanaged'] === true,
      replaceVariables: flags['replaceVariables'] === true,
      actualOf: (realm) => actual.get(realm),
    })
  })
  refuseOutcome(invocation, outcome)
  const dryRun = flags['dryRun'] === true
  if (!dryRun) await saveFiles(outcome.files)
  if (invocation.output === 'json') printAdopted(outcome, dryRun)
  else {
    if (dryRun) showDiffs(outcome)
    showAdopted(outcome, { dryRun, quiet: invocation.quiet })
  }
  if (outcome.refused.length > 0) process.exitCode = exitCodes.guarded
}
