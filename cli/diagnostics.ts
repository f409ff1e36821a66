/** Diagnostics: errors and warnings in files, each with its position, a stable code and a hint. */

/** Where something stands; lines and columns are counted from 1. */
export interface Place {
  /** As the person named it: relative to where they are. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** One behind the last column, where it ends on the same line. */
  readonly endColumn?: number
}

export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  /** Stable: people grep for it and switch warnings off by it. */
  readonly code: string
  readonly message: string
  readonly place?: Place
  /** What to do about it, such as "did you mean …". */
  readonly hint?: string
  readonly related?: readonly { readonly message: string; readonly place: Place }[]
}

/** In the order of a reader; of one place, errors first. */
export const byPlace = (a: Diagnostic, b: Diagnostic): number => {
  const [left, right] = [a.place, b.place]
  if (left === undefined || right === undefined)
    return Number(right === undefined) - Number(left === undefined)
  if (left.file !== right.file) return left.file < right.file ? -1 : 1
  return (
    left.line - right.line ||
    left.column - right.column ||
    Number(a.severity === 'warning') - Number(b.severity === 'warning')
  )
}

export const hasErrors = (diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ severity }) => severity === 'error')

export interface DiagnosticsSource {
  readonly diagnostics: readonly Diagnostic[]
  /** The text of a file that a diagnostic names. */
  textOf(file: string): string | undefined
}

export const counted = (number: number, word: string): string =>
  `${number} ${word}${number === 1 ? '' : 's'}`

/** "3 errors, 1 warning in 2 files". */
export const diagnosticsSummary = (diagnostics: readonly Diagnostic[]): string => {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  const warnings = diagnostics.length - errors
  const files = new Set(diagnostics.flatMap(({ place }) => place?.file ?? [])).size
  const parts = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ]
  return `${parts.join(', ')}${files > 0 ? ` in ${counted(files, 'file')}` : ''}`
}
