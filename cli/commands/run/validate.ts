/** Reads and checks realm files, and shows all that is wrong in them. */

import { relative, resolve, sep } from 'node:path'
import { readFiles } from '../../apply/files.ts'
import { type Diagnostic, hasErrors } from '../../diagnostics.ts'
import { exitCodes } from '../../exit.ts'
import { codes } from '../../validate/codes.ts'
import { annotate } from '../../views/annotations/github.ts'
import {
  type DiagnosticsSource,
  showDiagnostics,
  showValid,
} from '../../views/human/diagnostics.ts'
import { printTable } from '../../views/human/table.ts'
import { printReport, reportOf } from '../../views/json/diagnostics.ts'
import { printJson } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])

const showCodes = ({ output }: Invocation): void => {
  if (output === 'json') printJson(codes)
  else
    printTable(
      ['code', 'severity', 'meaning'],
      codes.map(({ code, severity, meaning }) => [code, severity, meaning]),
    )
}

/** GitHub knows files by their path in the repository, wherever in it the command runs. */
const repositoryPath =
  (root: string | undefined, cwd: string) =>
  (file: string): string =>
    root ? relative(root, resolve(cwd, file)).split(sep).join('/') : file

interface Outcome extends DiagnosticsSource {
  readonly realms: readonly string[]
  readonly files: readonly string[]
}

const show = ({ output, env, quiet }: Invocation, cwd: string, outcome: Outcome): void => {
  const { diagnostics, realms, files } = outcome
  if (output === 'json') {
    printReport(reportOf(diagnostics, realms, files))
    return
  }
  if (output === 'github')
    annotate(diagnostics, { pathOf: repositoryPath(env['GITHUB_WORKSPACE'], cwd) })
  else showDiagnostics(outcome, 'stdout')
  if (!hasErrors(diagnostics) && !quiet) showValid(realms, files.length)
}

export const validate = async (
  invocation: Invocation,
  paths: readonly string[],
  cwd = process.cwd(),
): Promise<void> => {
  const { flags, env } = invocation
  if (flags['codes'] === true) return showCodes(invocation)
  const { loaded, diagnostics: all } = await readFiles({
    paths,
    overlays: listOf(flags['overlay']),
    vars: listOf(flags['var']),
    varFiles: listOf(flags['varFile']),
    cwd,
    config: textOf(invocation, 'config', 'IAMCTL_CONFIG'),
    env,
  })
  const ignored = new Set(listOf(flags['ignore']))
  const isShown = ({ severity, code }: Diagnostic): boolean =>
    severity === 'error' || !ignored.has(code)
  const diagnostics = all.filter(isShown)
  show(invocation, cwd, {
    diagnostics,
    textOf: loaded.textOf,
    realms: loaded.realms.map(({ realm }) => realm),
    files: [...new Set(loaded.realms.flatMap(({ files }) => files))],
  })
  const fails = flags['warningsAsErrors'] === true ? diagnostics.length > 0 : hasErrors(diagnostics)
  if (fails) process.exitCode = exitCodes.invalid
}
