/** Writes a realm: to stdout, or as files. */

import { join } from 'node:path'
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

const refuseUnfit = ({ out, split, users, ids }: ExportFlags, { isBackup }: ExportView): void => {
  if (!isBackup && (users === 'all' || ids))
    throw new CommandError(exitCodes.error, '--users all and --ids need -o json', {
      hint: 'give -o json; files for Git contain neither',
    })
  if (split && out === undefined)
    throw new CommandError(exitCodes.error, '--split writes several files', {
      hint: 'name their folder with --out',
    })
}

export const writeExport = async (
  call: { readonly flags: ExportFlags; readonly quiet: boolean },
  { api, realm }: { readonly api: Api; readonly realm: string },
  view: ExportView,
): Promise<void> => {
  const { out, split, overwrite, users, ids } = call.flags
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
  for (const [name, content] of files) await writeBelow(out, name, content, { overwrite })
  note(
    call,
    `realm ${realm}, revision ${exported.revision}: ${[...files.keys()].map((name) => join(out, name)).join(', ')}`,
  )
}
