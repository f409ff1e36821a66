/**
 * The package that a pipeline installs. iamctl is not in a public registry, so the program packs itself into the estate: the
 * pipeline runs the version that made it, and needs no other source.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { withoutOwnCredentials } from '../context/own-credentials.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { packageFile } from '../package-files.ts'

/** From the folder of the estate. */
export const packedPath = `.iamctl/iamctl-${manifest.version}.tgz`

const failed = (reason: string): CommandError =>
  new CommandError(exitCodes.error, `the package for the pipeline cannot be made: ${reason}`, {
    hint: 'install npm, or name the package of the pipeline with --package',
  })

/** The installed program as `npm pack` packs it; nothing of it is built or fetched. */
export const packItself = async (
  env: Readonly<Record<string, string | undefined>>,
): Promise<Buffer> => {
  const { execa } = await import('execa')
  const folder = await mkdtemp(join(tmpdir(), 'iamctl-pack-'))
  try {
    const args = ['pack', packageFile(), '--ignore-scripts', '--offline', '--silent']
    const result = await execa('npm', [...args, '--pack-destination', folder], {
      env: { ...withoutOwnCredentials(env), npm_config_update_notifier: 'false' },
      extendEnv: false,
      cwd: folder,
      stdin: 'ignore',
      reject: false,
    })
    if (result.failed)
      throw failed(result.code === 'ENOENT' ? 'npm is not installed' : result.stderr.trim())
    return await readFile(join(folder, `iamctl-${manifest.version}.tgz`))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
