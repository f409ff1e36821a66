/** Writes a realm: to stdout, or as files. */

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { RealmExport } from '#schemas/wire/wire.ts'
import type { Api } from '../client/api.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { note } from '../views/human/elements/note.ts'
import { writeBelow } from '../write-below.ts'

export interface ExportFlags {
  readonly out: string | undefined
  readonly split: boolean
  readonly overwrite: boolean
  readonly users: 'managed' | 'all' | undefined
  readonly ids: boolean
}

/** How an export is written. */
export interface ExportView {
  /** Whether users that no file declares, and ids, have a place in it. */
  readonly isBackup: boolean
  readonly print: (exported: RealmExport) => void
  /** By their paths below the folder. */
  readonly files: (exported: RealmExport, split: boolean) => ReadonlyMap<string, string>
}

/** `shop.yaml` is one file; everything else, and what is one already, is a folder. */
const namesFile = (out: string | undefined): out is string =>
  out !== undefined &&
  /\.(?:ya?ml|json)$/.test(out) &&
  !statSync(out, { throwIfNoEntry: false })?.isDirectory()

/** `-` is standard output, as without --out. */
const outOf = ({ out }: ExportFlags): string | undefined => (out === '-' ? undefined : out)

const refuseUnfit = (flags: ExportFlags, { isBackup }: ExportView): void => {
  const { split, users, ids } = flags
  const out = outOf(flags)
  if (!isBackup && (users === 'all' || ids))
    throw new CommandError(exitCodes.error, '--users all and --ids need -o json', {
      hint: 'give -o json; files for Git contain neither',
    })
  if (split && (out === undefined || namesFile(out)))
    throw new CommandError(exitCodes.error, '--split writes several files', {
      hint: 'name their folder with --out',
    })
  if (namesFile(out) && out.endsWith('.json') && !isBackup)
    throw new CommandError(exitCodes.error, `${out} would hold YAML`, {
      hint: 'give -o json, or name a file .yaml',
    })
}

export const writeExport = async (
  call: { readonly flags: ExportFlags; readonly quiet: boolean },
  { api, realm }: { readonly api: Api; readonly realm: string },
  view: ExportView,
): Promise<void> => {
  const { split, overwrite, users, ids } = call.flags
  const out = outOf(call.flags)
  refuseUnfit(call.flags, view)
  const exported = await api.exportRealm(realm, {
    ...(users === undefined ? {} : { users }),
    ...(ids ? { ids } : {}),
  })
  const omitted = exported.meta.omittedSections ?? []
  if (omitted.length > 0)
    note(call, `left out, because you may not read them: ${omitted.join(', ')}`)
  if (out === undefined) return view.print(exported)
  const files = view.files(exported, split)
  const below = namesFile(out) ? dirname(out) : out
  const texts = namesFile(out)
    ? [...files.values()].map((content) => [basename(out), content] as const)
    : [...files]
  await writeBelow(
    texts.map(([name, text]) => ({ folder: below, name, text })),
    { overwrite },
  )
  note(
    call,
    `realm ${realm}, revision ${exported.revision}: ${texts.map(([name]) => join(below, name)).join(', ')}`,
  )
}
