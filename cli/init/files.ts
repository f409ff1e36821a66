/** The files of a new estate as a value: a template with its blanks filled in, and the pipeline that goes with it. */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { packageFile } from '../package-files.ts'

export interface Wish {
  readonly template: string
  readonly ci: string | undefined
  readonly realm: string
  readonly server: string
}

export interface NewFile {
  /** From the folder of the estate. */
  readonly path: string
  readonly text: string
}

/** Where each system looks for its pipeline. */
const pipelinePaths: Readonly<Record<string, string>> = {
  github: '.github/workflows/iamctl.yml',
  gitlab: '.gitlab-ci.yml',
}

/** The variables that the files take secrets from. */
export const secretNames = (files: readonly NewFile[]): string[] => {
  const found = files.flatMap(({ path, text }) =>
    path.startsWith('realms/') ? [...text.matchAll(/\$\{env:(\w+)\}/g)] : [],
  )
  return [...new Set(found.map(([, name = '']) => name))].sort()
}

const fill = (text: string, { realm, server }: Wish): string =>
  text
    .replaceAll('__REALM__', realm)
    .replaceAll('__SOURCE__', realm)
    .replaceAll('__SERVER__', server)
    .replaceAll('__VERSION__', manifest.version)

/** GitHub hands a job only the secrets that it names. */
const fillSecrets = (text: string, names: readonly string[]): string =>
  text
    .replaceAll('__SECRET_NAMES__', names.join(', '))
    .replaceAll(/^( *)__SECRETS__$/gm, (_, indent: string) =>
      names.map((name) => `${indent}${name}: \${{ secrets.${name} }}`).join('\n'),
    )

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
  { path: 'README.md', text: await read('templates', 'realms', 'README.md') },
  // npm would leave it out of the package under its own name.
  { path: '.gitignore', text: await read('templates', 'realms', 'gitignore') },
  ...(await Promise.all(
    ['estate', 'realm'].map(async (name) => ({
      path: `.iamctl/${name}.schema.json`,
      text: await read('schemas', `${name}.schema.json`),
    })),
  )),
]

const pipelineFiles = async (ci: string, realm: string): Promise<NewFile[]> => [
  { path: `realms/${realm}/pipeline.yaml`, text: await read('templates', 'ci', 'pipeline.yaml') },
  { path: pipelinePaths[ci] ?? '', text: await read('templates', 'ci', `${ci}.yml`) },
]

export const estateFiles = async (wish: Wish): Promise<NewFile[]> => {
  const { ci, realm } = wish
  const files = [
    ...(await shared()),
    ...(await realmFiles(wish)),
    ...(ci === undefined ? [] : await pipelineFiles(ci, realm)),
  ]
  const names = secretNames(files)
  return files.map(({ path, text }) => ({ path, text: fillSecrets(fill(text, wish), names) }))
}
