/** `iamctl fmt`. */

import { hasErrors } from '../../diagnostics.ts'
import { exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { toggle } from '../../invocation/flags.ts'
import { configFlag, pathsArgument } from '../../invocation/shared-flags.ts'

export const fmt = command({
  name: 'fmt',
  description: 'put realm files into canonical order and style; comments stay',
  help: `
Sections and fields in the order of the schema, entries in the order of the file; block style, two spaces, quotes only
where needed. The content never changes: a file for which that is impossible stays as it is. JSON is not formatted.
Exit codes: 0 done; 1 --check, and files would change; 3 a file cannot be read.

Examples:
  iamctl fmt                         the paths of iamctl.yaml, and its overlays
  iamctl fmt --check                 in a pipeline
  iamctl fmt - < acme.yaml           from standard input to standard output`,
  arguments: [pathsArgument],
  flags: { check: toggle('change nothing, list the files that would change'), ...configFlag },
  run: async ({ flags: { check, config } }, paths) => {
    const { findEstate } = await import('../../load/estate.ts')
    const { formatFiles } = await import('../../fmt/run.ts')
    const cwd = process.cwd()
    const found = await findEstate({ cwd, config })
    const outcome = await formatFiles({ paths, cwd, found, check, stdin: process.stdin })
    return { ...outcome, check }
  },
  views: {
    human: async () => {
      const { showFormatted } = await import('../../views/human/estate/fmt.ts')
      return (outcome, { quiet }) => showFormatted(outcome, { check: outcome.check, quiet })
    },
    json: async () => {
      const { printFormatted } = await import('../../views/json/fmt.ts')
      return (outcome) => printFormatted(outcome, outcome.check)
    },
  },
  conclude: ({ diagnostics, changed, check }) => {
    if (hasErrors(diagnostics)) return exitCodes.invalid
    return check && changed.length > 0 ? exitCodes.error : undefined
  },
})
