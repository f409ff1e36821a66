/**
 * The result of `iamctl validate` for the terminal: every problem with its lines, or success; and the list of codes.
 */

import { hasErrors } from '../../../diagnostics.ts'
import type { Validated, Validation } from '../../../planning/estate/validate-files.ts'
import { printTable } from '../elements/table.ts'
import { showDiagnostics, showValid } from './diagnostics.ts'

interface Reader {
  readonly quiet: boolean
}

/** The list of codes is a table in every format that has no form of its own for it. */
export const orCodes =
  (show: (validated: Validated, call: Reader) => void) =>
  (validation: Validation, call: Reader): void =>
    'codes' in validation
      ? printTable(
          ['code', 'severity', 'meaning'],
          validation.codes.map(({ code, severity, meaning }) => [code, severity, meaning]),
        )
      : show(validation, call)

export const showIfValid = ({ diagnostics, realms, files }: Validated, { quiet }: Reader): void => {
  if (!hasErrors(diagnostics) && !quiet) showValid(realms, files.length)
}

export const showValidation = orCodes((validated, call) => {
  showDiagnostics(validated, 'stdout')
  showIfValid(validated, call)
})
