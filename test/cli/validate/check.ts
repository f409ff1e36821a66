/** Text of realm files -> findings, through the same functions as every command. */

import type { Diagnostic } from '#cli/diagnostics.ts'
import { findEstate } from '#cli/load/estate.ts'
import { loadRealms } from '#cli/load/load.ts'
import type { Loaded } from '#cli/load/loaded.ts'
import { createValidator } from '#cli/validate/validate.ts'

/** One for all tests: compiling schemas takes longer than checking. */
const validator = createValidator()

async function* once(text: string): AsyncGenerator<string> {
  yield await Promise.resolve(text)
}

export interface Checked {
  readonly loaded: Loaded
  readonly diagnostics: readonly Diagnostic[]
}

export const check = async (
  text: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Checked> => {
  const cwd = import.meta.dirname
  const { estate } = await findEstate({ cwd })
  const loaded = await loadRealms({ paths: ['-'], cwd, estate, env, stdin: once(text) })
  return { loaded, diagnostics: validator.validate(loaded) }
}

/** `error enum 4:7 message`, with the hint behind an arrow. */
export const lineOf = ({ severity, code, message, place, hint }: Diagnostic): string => {
  const where = place === undefined ? '-' : `${place.line}:${place.column}`
  return `${severity} ${code} ${where} ${message}${hint === undefined ? '' : ` -> ${hint}`}`
}
