/** The files of a new estate as a value: a template with its blanks filled in, and the pipeline that goes with it. */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageFile } from '../package-files.ts'
import { shellWord } from '../shell-word.ts'
import type { Remote } from './remote.ts'

export interface Wish {
  readonly template: string
  readonly ci: string | undefined
  readonly realm: string
  readonly server: string
  /** The folder of the estate, from the root of its repository; empty where it is the root, or there is none. */
  readonly within: string
  /** What the pipeline installs, as npm takes it. */
  readonly package: string
  /** Where the repository is; its names are left to be filled in where that is not known. */
  readonly remote: Remote | null
}

export interface NewFile {
  /** From the folder of the estate; of a pipeline, from the root of the repository. */
  readonly path: string
  readonly isPipeline?: boolean
  /** A new repository often has one already: that one stays. */
  readonly mayExist?: boolean
  readonly text: string
}

/** Where each system looks for its pipeline; GitHub for several, so that a repository may hold several estates. */
const pipelinePath = ({ ci, within, realm }: Wish): string =>
  ci === 'gitlab'
    ? '.gitlab-ci.yml'
    : `.github/workflows/${within === '' ? 'iamctl' : `iamctl-${realm}`}.yml`

/** The variables that the files take secrets from. */
export const secretNames = (files: readonly NewFile[]): string[] => {
  const found = files.flatMap(({ path, text }) =>
    path.startsWith('realms/') ? [...text.matchAll(/\$\{env:(\w+)\}/g)] : [],
  )
  return [...new Set(found.map(([, name = '']) => name))].sort()
}

/** A line of a template that stands there only where the estate is a part of its repository. */
const fillLines = (text: string, name: string, line: string | null): string =>
  text.replaceAll(new RegExp(`^( *)${name}\\n`, 'gm'), (_, indent: string) =>
    line === null ? '' : `${indent}${line}\n`,
  )

const fillPlace = (text: string, wish: Wish): string => {
  const { within } = wish
  const orNone = (line: string): string | null => (within === '' ? null : line)
  const quoted = JSON.stringify
  let filled = text
  filled = fillLines(
    filled,
    '__PATHS__',
    orNone(`paths: [${quoted(`${within}/**`)}, ${quoted(pipelinePath(wish))}]`),
  )
  filled = fillLines(filled, '__CHANGES__', orNone(`changes: [${quoted(`${within}/**/*`)}]`))
  filled = fillLines(filled, '__CD__', orNone(`- ${quoted(`cd ${shellWord(within)}`)}`))
  filled = fillLines(
    filled,
    '__DEFAULTS__',
    orNone(`defaults: { run: { working-directory: ${quoted(within)} } }\n`),
  )
  return filled
    .replaceAll('__WITHIN__', within === '' ? '' : `${within}/`)
    .replaceAll('__PACKAGE__', quoted(wish.package))
}

/** The names of the repository in the subjects of its jobs. */
const fillRemote = (text: string, { remote }: Wish): string => {
  const { host = 'gitlab.com', path = 'OWNER/REPOSITORY' } = remote ?? {}
  const cut = path.lastIndexOf('/')
  return text
    .replaceAll('__ISSUER__', `https://${host}`)
    .replaceAll('__REPOSITORY__', path)
    .replaceAll('__OWNER__', path.slice(0, cut))
    .replaceAll('__NAME__', path.slice(cut + 1))
}

const fill = (text: string, { realm, server }: Wish): string =>
  text
    .replaceAll('__REALM__', realm)
    .replaceAll('__SOURCE__', realm)
    .replaceAll('__SERVER__', server)

/** GitHub hands a job only the secrets that it names. */
const fillSecrets = (text: string, names: readonly string[]): string =>
  text
    .replaceAll('__SECRET_NAMES__', names.length === 0 ? 'none' : names.join(', '))
    .replaceAll(/^( *)__SECRETS__\n/gm, (_, indent: string) =>
      names.map((name) => `${indent}${name}: \${{ secrets.${name} }}\n`).join(''),
    )

export const ignoreFile = '.gitignore'

/** What an estate keeps out of Git and a `.gitignore` does not list. */
export const notIgnored = (listed: string, wanted: string): string[] => {
  const known = new Set(listed.split('\n').map((line) => line.trim()))
  return wanted
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !known.has(line))
}

const read = (...names: readonly string[]): Promise<string> =>
  readFile(packageFile(...names), 'utf8')

const realmFiles = async ({ template, realm }: Wish): Promise<NewFile[]> => {
  const folder = packageFile('templates', 'realms', template)
  return Promise.all(
    (await readdir(folder)).sort().map(async (name) => ({
      path: `realms/${realm}/${name}`,
      text: await readFile(join(folder, name), 'utf8'),
    })),
  )
}

const shared = async (): Promise<NewFile[]> => [
  { path: 'iamctl.yaml', text: await read('templates', 'realms', 'iamctl.yaml') },
  { path: 'README.md', mayExist: true, text: await read('templates', 'realms', 'README.md') },
  // npm would leave it out of the package under its own name.
  { path: ignoreFile, mayExist: true, text: await read('templates', 'realms', 'gitignore') },
  ...(await Promise.all(
    ['estate', 'realm'].map(async (name) => ({
      path: `.iamctl/${name}.schema.json`,
      text: await read('schemas/editor', `${name}.schema.json`),
    })),
  )),
]

const pipelineFiles = async (wish: Wish): Promise<NewFile[]> => [
  {
    path: `realms/${wish.realm}/pipeline.yaml`,
    text: fillRemote(await read('templates', 'ci', `${wish.ci}-pipeline.yaml`), wish),
  },
  {
    path: pipelinePath(wish),
    text: fillPlace(await read('templates', 'ci', `${wish.ci}.yml`), wish),
    isPipeline: true,
  },
]

export const estateFiles = async (wish: Wish): Promise<NewFile[]> => {
  const files = [
    ...(await shared()),
    ...(await realmFiles(wish)),
    ...(wish.ci === undefined ? [] : await pipelineFiles(wish)),
  ]
  const names = secretNames(files)
  return files.map((file) => ({ ...file, text: fillSecrets(fill(file.text, wish), names) }))
}
