/** Reads the files of an estate, with the flags of a command and through its view. */

import type { FilesView, Reading } from '../planning/estate/estate.ts'
import type { Call } from './command.ts'
import { fileOptions } from './file-options.ts'
import type { FileValues } from './shared-flags.ts'

export const readingOf = <V extends FilesView>(
  call: Call<FileValues>,
  paths: readonly string[],
  view: V,
): Reading & { readonly view: V } => ({
  files: fileOptions(call, paths),
  allowExec: call.flags.allowExec,
  quiet: call.quiet,
  view,
})
