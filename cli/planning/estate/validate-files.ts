/** The run of `iamctl validate`: all diagnostics of files, without a server. */

import { relative, resolve, sep } from 'node:path'
import { type Diagnostic, hasErrors } from '../../diagnostics.ts'
import type { Code } from '../../validate/codes.ts'
import { type FileOptions, readFiles } from './files.ts'

export interface Validated {
  readonly diagnostics: readonly Diagnostic[]
  readonly textOf: (file: string) => string | undefined
  readonly realms: readonly string[]
  readonly files: readonly string[]
  /** Whether warnings count as errors. */
  readonly warningsFail: boolean
  readonly fails: boolean
  /** The path of a file as a pipeline knows it. */
  readonly pathOf: (file: string) => string
}

/** Every code that there is, or what was found. */
export type Validation = Validated | { readonly codes: readonly Code[] }

type Env = FileOptions['env']

/** Where GitHub and GitLab have checked the repository out. */
const checkout = (env: Env): string | undefined =>
  env['GITHUB_WORKSPACE'] || env['CI_PROJECT_DIR'] || undefined

/** A pipeline knows files by their path in the repository, wherever in it the command runs. */
const repositoryPath =
  (root: string | undefined, cwd: string) =>
  (file: string): string =>
    root ? relative(root, resolve(cwd, file)).split(sep).join('/') : file

/** A pipeline that checks an empty or wrong folder should not look like one that checked a realm. */
const noRealm: Diagnostic = {
  severity: 'warning',
  code: 'file-without-realm',
  message: 'the files contain no realm',
  hint: 'name other paths, or begin a file with "realm: NAME"',
}

export const validateFiles = async (
  options: FileOptions,
  {
    ignore,
    warningsAsErrors,
  }: { readonly ignore: readonly string[]; readonly warningsAsErrors: boolean },
): Promise<Validated> => {
  const { loaded, diagnostics: found } = await readFiles(options)
  const all = loaded.realms.length > 0 || hasErrors(found) ? found : [...found, noRealm]
  const ignored = new Set(ignore)
  const diagnostics = all.filter(({ severity, code }) => severity === 'error' || !ignored.has(code))
  return {
    diagnostics,
    textOf: loaded.textOf,
    realms: loaded.realms.map(({ realm }) => realm),
    files: [...new Set(loaded.realms.flatMap(({ files }) => files))],
    warningsFail: warningsAsErrors,
    fails: warningsAsErrors ? diagnostics.length > 0 : hasErrors(diagnostics),
    pathOf: repositoryPath(checkout(options.env), options.cwd),
  }
}
