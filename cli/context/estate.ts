/** The contexts that an estate's `iamctl.yaml` names. What reads such a file is loaded only where there is one. */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import type { Context } from './store.ts'

export interface EstateContexts {
  /** Null where there is no such file. */
  readonly file: string | null
  readonly defaultContext: string | null
  readonly contexts: Readonly<Record<string, Context>>
}

const none: EstateContexts = { file: null, defaultContext: null, contexts: {} }

const isBelowEstate = (folder: string): boolean =>
  existsSync(join(folder, 'iamctl.yaml')) ||
  (dirname(folder) !== folder && isBelowEstate(dirname(folder)))

/** `config` is what --config or its variable says; else it is the nearest file, from the folder upwards. */
export const readEstateContexts = async (
  cwd: string,
  config: string | undefined,
): Promise<EstateContexts> => {
  if (config === undefined && !isBelowEstate(cwd)) return none
  const { findEstate } = await import('../load/estate.ts')
  const { estate, diagnostics } = await findEstate({ cwd, config })
  if (hasErrors(diagnostics))
    throw new CommandError(exitCodes.invalid, 'iamctl.yaml is not valid', {
      hint: 'correct it, or name another file with --config; `iamctl explain estate` explains its fields',
      diagnostics,
    })
  return estate
}
