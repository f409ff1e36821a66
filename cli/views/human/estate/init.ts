/** What `iamctl init` has written, and the way on from there. */

import { printErr, printOut } from '../../streams.ts'
import { harmless, onErr } from '../elements/text.ts'

export interface Begun {
  readonly folder: string
  readonly realm: string
  readonly server: string
  readonly ci: string | null
  /** What the pipeline installs. */
  readonly package: string | null
  readonly files: readonly string[]
  /** Variables that the files take secrets from. */
  readonly secrets: readonly string[]
}

const step = (command: string, meaning: string): string => `  ${command.padEnd(34)} ${meaning}`

const nextSteps = ({ folder, realm, server, ci, package: installed, secrets }: Begun): string[] => [
  `Realm ${realm} is ready to be applied. The way on:`,
  ...(folder === '.' ? [] : [step(`cd ${folder}`, '')]),
  step('iamctl validate', 'every problem with its line; no server is asked'),
  step('iamctl dev', 'try it on this machine: secrets are generated, every save is applied'),
  step(`iamctl login --server ${server}`, 'sign in'),
  step('iamctl plan', 'what would change'),
  step('iamctl apply', 'do it'),
  ...(secrets.length === 0
    ? []
    : ['', `plan and apply take secrets from the environment: ${secrets.join(', ')}`]),
  ...(ci === null
    ? []
    : [
        `The pipeline needs ${secrets.length === 1 ? 'it' : 'them'} as secrets of ${ci === 'github' ? 'GitHub' : 'GitLab'}; its head says where. The first apply, which makes its`,
        'clients, is yours.',
        `It installs ${installed}: iamctl is not in a public registry. \`iamctl init --package\` names another source.`,
      ]),
]

/** The files are the result; what to do with them is said beside it. */
export const showBegun = (begun: Begun, { quiet }: { readonly quiet: boolean }): void => {
  printOut(begun.files.map(harmless).join('\n'))
  if (quiet) return
  const [first = '', ...rest] = nextSteps(begun).map((line) => harmless(line).trimEnd())
  printErr(['', onErr('bold', first), ...rest].join('\n'))
}
