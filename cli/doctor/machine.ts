/** Checks without a server: the program, its store, and the files of the estate. */

import { statSync } from 'node:fs'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type Env, openStore } from '../context/store.ts'
import { failureOf } from '../failure.ts'
import { type FileOptions, readFiles } from '../planning/estate/files.ts'

/** An error that the program itself would end with, as a finding. */
export const findingOf = (check: string, cause: unknown): Finding => {
  const { message, hint, diagnostics } = failureOf(cause)
  const [first] = diagnostics
  const more = first === undefined ? '' : `: ${first.message}`
  return error(check, `${message}${more}`, hint ?? first?.hint ?? 'see the message')
}

export const checkProgram = (): Finding =>
  ok('program', `iamctl ${manifest.version} on Node.js ${process.versions.node}`)

/** The file contains sessions: reading it is enough to act as the user. */
export const checkMemory = (env: Env): Finding => {
  const { file, read } = openStore(env)
  try {
    const { contexts, sessions } = read()
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return ok('memory', `${file} does not exist yet`)
    if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
      return error('memory', `${file} can be read by others`, `chmod 600 ${file}`)
    const [known, kept] = [Object.keys(contexts).length, Object.keys(sessions).length]
    return ok('memory', `${file}: contexts ${known}, sessions ${kept}`)
  } catch (cause) {
    return findingOf('memory', cause)
  }
}

export const checkFiles = async (options: FileOptions): Promise<Finding> => {
  const { estate, loaded, diagnostics } = await readFiles(options)
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  const [first] = diagnostics
  if (loaded.realms.length === 0 && estate.file === null && options.paths.length === 0)
    return warning(
      'files',
      'there are no realm files here',
      'create an estate with `iamctl init`, or change to its folder',
    )
  if (errors > 0)
    return error(
      'files',
      `errors ${errors}, the first: ${first?.message ?? ''}`,
      'see all with `iamctl validate`',
    )
  const realms = loaded.realms.map(({ realm }) => realm).join(', ')
  const warnings = diagnostics.length
  return warnings === 0
    ? ok('files', `valid: ${realms}`)
    : warning('files', `valid: ${realms}; warnings ${warnings}`, 'see them with `iamctl validate`')
}
