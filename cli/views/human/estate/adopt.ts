/** The result of adopt: the diff or the names of the files on stdout, the rest on stderr. */

import type { AdoptOutcome, NotAdopted } from '../../../adopt/adopt.ts'
import type { AdoptView } from '../../../adopt/adopt-estate.ts'
import { unifiedDiff } from '../../../adopt/text/unified.ts'
import { nameOf, namesOf } from '../../../planning/names.ts'
import { printErr, printOut } from '../../streams.ts'
import { harmless, harmlessLines, onErr, onOut } from '../elements/text.ts'
import { filesView } from './plan-view.ts'

const colours = { '+': 'green', '-': 'red', '@': 'cyan' } as const

const painted = (line: string): string => {
  const colour = colours[line[0] as keyof typeof colours]
  // Of a carriage return the terminal would make an empty line.
  const text = harmless(line.replace(/\r$/, ''))
  return colour === undefined ? text : onOut(colour, text)
}

/** In a pipe the diff is printed unchanged, for `git apply`. */
const showDiffs = ({ files }: AdoptOutcome): void => {
  for (const { file, before, after } of files) {
    const diff = unifiedDiff(file, before, after)
    printOut(process.stdout.isTTY ? diff.trimEnd().split('\n').map(painted).join('\n') : diff)
  }
}

const refusal = ({ kind, key, field, message, place }: NotAdopted): string => {
  const where = place === null ? '' : `${place.file}:${place.line}:${place.column}: `
  const what = field === null ? nameOf(kind, key) : `${nameOf(kind, key)}, ${field}`
  return `${onErr('bold', harmless(where))}${onErr('yellow', 'not adopted:')} ${harmless(`${what}: ${message}`)}`
}

const showAdopted = (
  { adopted, refused, unmanaged, files }: AdoptOutcome,
  { dryRun, quiet }: { readonly dryRun: boolean; readonly quiet: boolean },
): void => {
  if (!dryRun) for (const { file } of files) printOut(harmless(file))
  for (const one of refused) printErr(refusal(one))
  if (quiet) return
  if (unmanaged.length > 0)
    printErr(
      harmlessLines(
        `no estate owns ${namesOf(unmanaged)}: name what shall be adopted, or give --unmanaged`,
      ),
    )
  if (adopted.length === 0 && refused.length === 0)
    printErr('Nothing to adopt: the realm matches the files.')
  if (adopted.length > 0)
    printErr(harmlessLines(`${dryRun ? 'Would adopt' : 'Adopted'} ${namesOf(adopted)}.`))
}

export const adoptView: AdoptView = {
  ...filesView,
  show: (outcome, quiet) => {
    const { dryRun } = outcome
    if (dryRun) showDiffs(outcome)
    showAdopted(outcome, { dryRun, quiet })
  },
}
