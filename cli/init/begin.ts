/** Writes the files of a new estate, all of them or none. */

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { formats } from '#schemas/text/formats.ts'
import { serverAddress } from '../client/address.ts'
import { defaultServer } from '../context/target.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { writeBelow } from '../write-below.ts'
import {
  estateFiles,
  ignoreFile,
  type NewFile,
  notIgnored,
  secretNames,
  type Wish,
} from './files.ts'
import { packedPath, packItself } from './package.ts'
import { remoteOf } from './remote.ts'
import { repositoryOf } from './repository.ts'

export interface InitFlags {
  readonly template: string | undefined
  readonly ci: string | undefined
  readonly package: string | undefined
  readonly realm: string | undefined
  readonly server: string | undefined
}

/** A new estate: the files that were written, and what the next steps need. */
export interface Begun {
  readonly folder: string
  readonly realm: string
  readonly server: string
  readonly ci: string | null
  /** What the pipeline installs. */
  readonly package: string | null
  readonly files: readonly string[]
  /** Files that existed and stay as they are. */
  readonly kept: readonly string[]
  /** What a `.gitignore` that stays does not list. */
  readonly notIgnored: readonly string[]
  /** Variables that the files take secrets from. */
  readonly secrets: readonly string[]
}

const isRealmName = (text: string): boolean => formats['realm-name']?.test(text) === true

/** The folder gives the name of the realm; if that is not a valid name, --realm is required. */
const realmOf = (given: string | undefined, folder: string): string => {
  const name = given ?? basename(folder).toLowerCase()
  if (isRealmName(name)) return name
  throw new CommandError(exitCodes.error, `a realm cannot be called "${name}"`, {
    hint:
      given === undefined
        ? 'the name comes from the folder; choose one with --realm'
        : (formats['realm-name']?.message ?? ''),
  })
}

/** What npm takes for an option, or a second line of the pipeline, is none. */
const packageOf = (given: string | undefined): string | undefined => {
  if (given === undefined || /^[^-\s]\S*$/.test(given)) return given
  throw new CommandError(
    exitCodes.error,
    `--package ${JSON.stringify(given)} is not an npm package`,
    {
      hint: 'write it as for `npm install`: a path, the address of a tarball, git+https://…#tag, or NAME@VERSION',
    },
  )
}

/** What the `.gitignore` among the files that stay does not list. */
const unlisted = async (folder: string, kept: readonly NewFile[]): Promise<string[]> => {
  const ignore = kept.find(({ path }) => path === ignoreFile)
  if (ignore === undefined) return []
  return notIgnored(await readFile(join(folder, ignoreFile), 'utf8'), ignore.text)
}

const refuseExisting = (existing: readonly string[], hasPipeline: boolean): void => {
  if (existing.length === 0) return
  throw new CommandError(
    exitCodes.error,
    `nothing was written: ${existing.join(', ')} ${existing.length === 1 ? 'exists' : 'exist'}`,
    {
      hint: hasPipeline
        ? 'the repository has a pipeline already; leave --ci out and copy the jobs'
        : 'name another folder: `iamctl init FOLDER`',
    },
  )
}

export const beginEstate = async (
  flags: InitFlags,
  env: Readonly<Record<string, string | undefined>>,
  where = '.',
): Promise<Begun & { readonly template: string }> => {
  const folder = resolve(where)
  const found = repositoryOf(folder)
  const repository = found ?? folder
  const named = packageOf(flags.package)
  const wish: Wish = {
    within: relative(repository, folder).split(sep).join('/'),
    package: named ?? `./${packedPath}`,
    template: flags.template ?? 'minimal',
    ci: flags.ci,
    realm: realmOf(flags.realm, folder),
    server: serverAddress(flags.server ?? defaultServer),
    remote: flags.ci === undefined ? null : await remoteOf(found, env),
  }
  const all = (await estateFiles(wish)).map(({ isPipeline = false, ...file }) => ({
    below: isPipeline ? repository : folder,
    ...file,
  }))
  const stays = ({ path, mayExist = false }: NewFile): boolean =>
    mayExist && existsSync(join(folder, path))
  const [kept, texts] = [all.filter(stays), all.filter((file) => !stays(file))]
  const packs = wish.ci !== undefined && named === undefined
  const shown = ({ below, path }: { below: string; path: string }): string =>
    relative(folder, join(below, path)).split(sep).join('/')
  const paths = [...texts.map(shown), ...(packs ? [packedPath] : [])]
  const existing = paths.filter((path) => existsSync(join(folder, path)))
  refuseExisting(existing, existing.includes(shown({ below: repository, path: '.gitlab-ci.yml' })))
  const packed = packs ? await packItself(env) : undefined
  await writeBelow(
    [
      ...texts.map(({ below, path, text }) => ({ folder: below, name: path, text })),
      ...(packed === undefined ? [] : [{ folder, name: packedPath, text: packed }]),
    ],
    { overwrite: false },
  )
  return {
    folder: relative(process.cwd(), folder) || '.',
    template: wish.template,
    realm: wish.realm,
    server: wish.server,
    ci: wish.ci ?? null,
    package: wish.ci === undefined ? null : wish.package,
    files: paths,
    kept: kept.map(({ path }) => path),
    notIgnored: await unlisted(folder, kept),
    secrets: secretNames(texts),
  }
}
