/** Reads and checks realm files, and shows all that is wrong in them. */

import { relative, resolve, sep } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import { type Diagnostic, hasErrors } from '../../diagnostics.ts'
import { exitCodes } from '../../exit.ts'
import { readFiles } from '../../planning/estate/files.ts'
import { codes } from '../../validate/codes.ts'
import { annotate } from '../../views/annotations/github.ts'
import { junitOf } from '../../views/annotations/junit.ts'
import { sarifOf } from '../../views/annotations/sarif.ts'
import {
  type DiagnosticsSource,
  showDiagnostics,
  showValid,
} from '../../views/human/diagnostics.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { printReport, reportOf } from '../../views/json/diagnostics.ts'
import { printJson } from '../../views/json/json.ts'
import { printOut } from '../../views/streams.ts'
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

type PathOf = (file: string) => string

/** A pipeline knows files by their path in the repository, wherever in it the command runs. */
const repositoryPath =
  (root: string | undefined, cwd: string): PathOf =>
  (file) =>
    root ? relative(root, resolve(cwd, file)).split(sep).join('/') : file

interface Outcome extends DiagnosticsSource {
  readonly realms: readonly string[]
  readonly files: readonly string[]
}

/** Where GitHub and GitLab have checked the repository out. */
const checkout = (env: Invocation['env']): string | undefined =>
  env['GITHUB_WORKSPACE'] || env['CI_PROJECT_DIR'] || undefined

const showToPeople = ({ output, quiet }: Invocation, outcome: Outcome, pathOf: PathOf): void => {
  const { diagnostics, realms, files } = outcome
  if (output === 'github') annotate(diagnostics, { pathOf })
  else showDiagnostics(outcome, 'stdout')
  if (!hasErrors(diagnostics) && !quiet) showValid(realms, files.length)
}

const show = (invocation: Invocation, cwd: string, outcome: Outcome): void => {
  const { output, env, flags } = invocation
  const { diagnostics, realms, files } = outcome
  const pathOf = repositoryPath(checkout(env), cwd)
  const warningsFail = flags['warningsAsErrors'] === true
  if (output === 'json') printReport(reportOf(diagnostics, realms, files))
  else if (output === 'sarif')
    printJson(sarifOf(diagnostics, { version: manifest.version, codes, pathOf }))
  else if (output === 'junit') printOut(junitOf(diagnostics, { files, warningsFail, pathOf }))
  else showToPeople(invocation, outcome, pathOf)
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
