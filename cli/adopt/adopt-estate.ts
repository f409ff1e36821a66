/** Writes what is live into the files: asks for the realms as they are, edits, checks, saves. */

import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Place } from '#schemas/wire/wire.ts'
import type { Api } from '../client/api.ts'
import { isProblem } from '../client/http/errors.ts'
import { hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { sourceNameOf } from '../load/estate.ts'
import type { LoadedRealm } from '../load/loaded.ts'
import { type Actual, actualOf } from '../planning/actual.ts'
import { type FilesView, type Reading, refuseInvalid } from '../planning/estate/estate.ts'
import { readFiles } from '../planning/estate/files.ts'
import { nameOf } from '../planning/names.ts'
import { parseTarget } from '../planning/target.ts'
import { type AdoptOutcome, adopt } from './adopt.ts'
import { filesOf } from './differences.ts'
import { saveFiles } from './save.ts'

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
    // A client that registered itself is adopted by its name alone.
    const query = { builtIns: true, sections, ...(names.length > 0 ? { runtime: true } : {}) }
    return actualOf(await api.exportRealm(loaded.realm, query), sections)
  } catch (error) {
    if (!isProblem(error, 404)) throw error
    throw new CommandError(exitCodes.error, `no such realm ${loaded.realm} at ${api.server}`, {
      hint: 'create it with `iamctl apply`',
      cause: error,
    })
  }
}

/** What must not be saved. */
const refuseOutcome = (view: Reading['view'], outcome: AdoptOutcome): void => {
  const { unknown, problems, diagnostics, textOf: textOfFile } = outcome
  const [first] = unknown
  if (first)
    throw new CommandError(
      exitCodes.invalid,
      `there is no ${nameOf(first.kind, first.key)}, neither in the files nor in the realm`,
      { hint: 'list the documents of the realm with `iamctl get KIND`' },
    )
  if (hasErrors(diagnostics))
    refuseInvalid(view, { loaded: { realms: [], diagnostics, textOf: textOfFile } }, diagnostics, {
      message: 'with what is live the files would not be valid',
      hint: 'nothing was written; also name the documents that this one refers to, they must be in the files too',
    })
  if (problems.length > 0)
    throw new CommandError(
      exitCodes.guarded,
      'the change would affect documents that were not named',
      {
        hint: `nothing was written: ${problems.join('; ')}`,
      },
    )
}

export interface AdoptView extends FilesView {
  readonly show: (outcome: AdoptOutcome & { readonly dryRun: boolean }, quiet: boolean) => void
}

export interface AdoptFlags {
  readonly source: string | undefined
  readonly unmanaged: boolean
  readonly replaceVariables: boolean
  readonly dryRun: boolean
}

export const adoptEstate = async (
  { files: options, view, flags }: Reading & { readonly flags: AdoptFlags },
  names: readonly string[],
  connect: () => Promise<{ readonly api: Api }>,
): Promise<AdoptOutcome & { readonly dryRun: boolean }> => {
  const { source, unmanaged, replaceVariables, dryRun } = flags
  const places = placesOf(names)
  if (options.paths.includes('-'))
    throw new CommandError(exitCodes.error, 'standard input cannot be written to', {
      hint: 'name files with --path',
    })
  const files = { ...options, serverChecks: true }
  const read = await readFiles(files)
  if (hasErrors(read.diagnostics)) refuseInvalid(view, read, read.diagnostics)
  const { estate, loaded } = read
  const { api } = await connect()
  const actual = new Map<string, Actual>()
  for (const realm of loaded.realms) actual.set(realm.realm, await actualRealm(api, realm, places))
  const outcome = await adopt({
    files,
    source: sourceNameOf(source, estate),
    prune: estate.prune === 'all' ? 'all' : 'owned',
    names: places,
    unmanaged,
    replaceVariables,
    actualOf: (realm) => actual.get(realm),
  })
  refuseOutcome(view, outcome)
  if (!dryRun) await saveFiles(outcome.files)
  return { ...outcome, dryRun }
}
