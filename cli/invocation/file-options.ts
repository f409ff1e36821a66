/** From the flags about realm files to what reads them. */

import type { FileOptions } from '../planning/estate/files.ts'
import type { Call } from './command.ts'
import type { FileValues } from './shared-flags.ts'

export const fileOptions = (
  { flags, env }: Pick<Call<Omit<FileValues, 'allowExec' | 'source'>>, 'flags' | 'env'>,
  paths: readonly string[],
  cwd = process.cwd(),
): FileOptions => ({
  paths,
  overlays: flags.overlay,
  vars: flags.var,
  varFiles: flags.varFile,
  cwd,
  config: flags.config,
  env,
})
