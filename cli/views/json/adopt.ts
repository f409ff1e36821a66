/** The result of adopt as JSON. */

import type { AdoptOutcome } from '../../adopt/adopt.ts'
import type { AdoptView } from '../../adopt/adopt-estate.ts'
import { unifiedDiff } from '../../adopt/text/unified.ts'
import { carriedByError } from '../../planning/estate/estate.ts'
import { printJson } from './json.ts'

const printAdopted = (
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

export const adoptView: AdoptView = {
  ...carriedByError,
  show: (outcome) => printAdopted(outcome, outcome.dryRun),
}
