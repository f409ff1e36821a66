/** The files that `iamctl init` has written, and the next steps. */

import type { Begun } from '../../../init/begin.ts'
import { printErr, printOut } from '../../streams.ts'
import { harmless, onErr } from '../elements/text.ts'

const step = (command: string, meaning: string): string => `  ${command.padEnd(34)} ${meaning}`

const nameOf = (ci: string): string => (ci === 'github' ? 'GitHub' : 'GitLab')

const nextSteps = ({ folder, realm, server, ci, package: installed, secrets }: Begun): string[] => [
  `Realm ${realm} is ready to be applied. Next steps:`,
  ...(folder === '.' ? [] : [step(`cd ${folder}`, '')]),
  step('iamctl validate', 'offline check, every problem with its line'),
  step('iamctl dev', 'try it on this machine: secrets are generated, every save is applied'),
  step(`iamctl login --server ${server}`, 'sign in'),
  step('iamctl plan', 'show the changes'),
  step('iamctl apply', 'apply them'),
  ...(secrets.length === 0
    ? []
    : ['', `plan and apply take secrets from the environment: ${secrets.join(', ')}`]),
  ...(ci === null
    ? []
    : [
        ...(secrets.length === 0
          ? []
          : [
              `The apply of the pipeline needs ${secrets.length === 1 ? 'it' : 'them'} as secrets of ${nameOf(ci)}; see the comment at its top.`,
            ]),
        `The pipeline signs in with tokens of ${nameOf(ci)}: complete the subjects in realms/${realm}/pipeline.yaml.`,
        'Run the first apply yourself: it creates the clients of the pipeline.',
        `It installs ${installed}: iamctl is not in a public registry. \`iamctl init --package\` names another source.`,
      ]),
]

/** The files are the result (stdout); next steps go to stderr. */
export const showBegun = (begun: Begun, { quiet }: { readonly quiet: boolean }): void => {
  printOut(begun.files.map(harmless).join('\n'))
  if (quiet) return
  const [first = '', ...rest] = nextSteps(begun).map((line) => harmless(line).trimEnd())
  printErr(['', onErr('bold', first), ...rest].join('\n'))
}
