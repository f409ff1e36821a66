/** The result of the formatter as JSON. */

import type { FmtOutcome } from '../../fmt/run.ts'
import { printJson } from './json.ts'

export const printFormatted = (
  { changed, unchanged, left, diagnostics, text }: FmtOutcome,
  check: boolean,
): void =>
  printJson({
    formatVersion: 1,
    check,
    changed,
    unchanged,
    left,
    diagnostics,
    ...(text === null ? {} : { text }),
  })
