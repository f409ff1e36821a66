/** What was written into files, or would be, for programs. */

import type { AdoptOutcome } from '../../adopt/adopt.ts'
import { unifiedDiff } from '../../adopt/unified.ts'
import { printJson } from './json.ts'

export const printAdopted = (
  { adopted, refused, unmanaged, files }: AdoptOutcome,
  dryRun: boolean,
): void =>
  printJson({
    formatVersion: 1,
    dryRun,
    adopted,
    refused,
    unmanaged,
    files: files.map(({ file, before, after }) => ({
      file,
      diff: unifiedDiff(file, before, after),
    })),
  })
