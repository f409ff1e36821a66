/** Contexts: servers and realms by name. Those of `iamctl.yaml` are the estate's, the others this machine's. */

import { nearest } from '#schemas/text/typos.ts'
import { type EstateContexts, readEstateContexts } from '../../../context/estate.ts'
import { CommandError, exitCodes } from '../../../exit.ts'

export const estateContexts = (config: string | undefined): Promise<EstateContexts> =>
  readEstateContexts(process.cwd(), config)

export const missingContext = (name: string, known: readonly string[]): CommandError => {
  const meant = nearest(name, known)
  return new CommandError(exitCodes.error, `this machine has no context "${name}"`, {
    hint: meant === undefined ? '`iamctl context list` shows them' : `did you mean "${meant}"?`,
  })
}
