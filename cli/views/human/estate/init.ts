/** The files that `iamctl init` has written, and the next steps. */

import type { Begun } from '../../../init/begin.ts'
import { shellWord } from '../../../shell-word.ts'
import { printErr, printOut } from '../../streams.ts'
import { harmless, onErr } from '../elements/text.ts'

/** A column of commands and one of what each does. */
const table = (steps: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...steps.map(([command]) => command.length))
  return steps.map(([command, meaning]) => `  ${command.padEnd(width)}  ${meaning}`)
}

const nameOf = (ci: string): string => (ci === 'github' ? 'GitHub' : 'GitLab')

const keptFiles = ({ kept, notIgnored }: Begun): string[] => [
  ...(kept.length === 0 ? [] : [`Kept as found: ${kept.join(', ')}.`]),
  ...(notIgnored.length === 0 ? [] : [`Add to .gitignore: ${notIgnored.join(' ')}`]),
]

const nextSteps = (begun: Begun): string[] => [
  `Realm ${begun.realm} is ready to be applied. Next steps:`,
  ...(begun.folder === '.' ? [] : [`  cd ${shellWord(begun.folder)}`]),
  ...table([
    ['iamctl validate', 'offline check, every problem with its line'],
    ['iamctl dev', 'try it on this machine: secrets are generated, every save is applied'],
    [`iamctl login --server ${shellWord(begun.server)}`, 'sign in'],
    ['iamctl plan', 'show the changes'],
    ['iamctl apply', 'apply them'],
  ]),
  ...needs(begun),
]

const needs = ({ realm, ci, package: installed, secrets }: Begun): string[] => [
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
  const [first = '', ...rest] = nextSteps(begun).map(harmless)
  const kept = keptFiles(begun).map(harmless)
  printErr([...kept, '', onErr('bold', first), ...rest].join('\n'))
}
