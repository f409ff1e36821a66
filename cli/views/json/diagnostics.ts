/** Diagnostics as JSON. */

import { type Diagnostic, hasErrors } from '../../diagnostics.ts'
import type { Validation } from '../../planning/estate/validate-files.ts'
import { printJson } from './json.ts'

export interface ValidationReport {
  readonly formatVersion: 1
  /** No errors; warnings do not count. */
  readonly valid: boolean
  readonly errors: number
  readonly warnings: number
  readonly realms: readonly string[]
  readonly files: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

export const reportOf = (
  diagnostics: readonly Diagnostic[],
  realms: readonly string[],
  files: readonly string[],
): ValidationReport => {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  return {
    formatVersion: 1,
    valid: !hasErrors(diagnostics),
    errors,
    warnings: diagnostics.length - errors,
    realms,
    files,
    diagnostics,
  }
}

export const printValidation = (validation: Validation): void =>
  printJson(
    'codes' in validation
      ? validation.codes
      : reportOf(validation.diagnostics, validation.realms, validation.files),
  )
