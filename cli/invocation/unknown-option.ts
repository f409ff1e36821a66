/** What to write in place of an option that does not exist. */

import type { Command } from 'commander'
import { own } from '#schemas/own.ts'

/** Options of kubectl, terraform and others, and those that a command may have for them. */
const habits: Readonly<Record<string, readonly string[]>> = {
  '-n': ['--realm'],
  '--namespace': ['--realm'],
  '-r': ['--realm'],
  '-y': ['--auto-approve'],
  '--assume-yes': ['--auto-approve'],
  '--force': ['--auto-approve', '--overwrite'],
  '--no-input': ['--auto-approve'],
  '--non-interactive': ['--auto-approve'],
  '-q': ['--quiet'],
  '--silent': ['--quiet'],
  '-v': ['--debug'],
  '--verbose': ['--debug'],
  '-u': ['--username'],
  '--user': ['--username'],
  '--url': ['--server'],
  '--host': ['--server'],
  '--endpoint': ['--server'],
  '--profile': ['--context'],
  '--workspace': ['--context'],
  '-l': ['--search'],
  '--selector': ['--search'],
  '--filter': ['--search'],
  '--since': ['--from'],
  '--delete': ['--prune'],
}

const formats: Readonly<Record<string, string>> = {
  '--json': '`-o json` prints JSON',
  '--yaml': '`-o yaml` prints YAML',
}

const sentences: Readonly<Record<string, string>> = {
  '--dry-run': '`iamctl plan` shows what `iamctl apply` would change, and changes nothing',
  '--dryrun': '`iamctl plan` shows what `iamctl apply` would change, and changes nothing',
  '--check': '`iamctl plan` shows what `iamctl apply` would change, and changes nothing',
  '--destroy': 'remove documents from their files; `iamctl apply` destroys what this estate owns',
  '--parallelism': 'leave it out: a realm is applied in one transaction',
  '--lock-timeout': 'leave it out: a realm is applied in one transaction',
  '--refresh-only': '`iamctl drift` shows changes made outside the files',
  '-A': 'a command works on one realm: name it with --realm',
  '--all-namespaces': 'a command works on one realm: name it with --realm',
  '--password':
    'a password is never a flag: IAMCTL_PASSWORD, --password-file, or the prompt takes it',
  '--token': 'a token is never a flag: IAMCTL_TOKEN takes it',
  '--client-secret': 'a secret is never a flag: IAMCTL_CLIENT_SECRET takes it',
}

const files = 'name files and folders without an option: `iamctl COMMAND realm.yaml`'

const hasOption = (command: Command, flag: string): boolean =>
  command.options.some(({ long, short }) => long === flag || short === flag)

const takesPaths = (command: Command): boolean =>
  command.registeredArguments.some((one) => one.name() === 'paths')

/** The command that a line names. */
const namedBy = (program: Command, line: readonly string[]): Command => {
  let found = program
  for (const word of line) found = found.commands.find((one) => one.name() === word) ?? found
  return found
}

/** Terraform's options have one dash: `-auto-approve`, `-out=FILE`. */
const withTwoDashes = (command: Command, option: string): string | undefined => {
  const flag = `-${option}`
  return /^-[a-z][a-z-]+$/.test(option) && hasOption(command, flag)
    ? `write two dashes: ${flag}`
    : undefined
}

const meant = (flag: string): string => `did you mean ${flag}?`

/** `option` is without its value; `similar` is what the parser finds. */
export const optionHint = (
  program: Command,
  line: readonly string[],
  option: string,
  similar: string | undefined,
): string | undefined => {
  const command = namedBy(program, line)
  const known = own(habits, option)?.find((flag) => hasOption(command, flag))
  if (known !== undefined) return meant(known)
  if (/^(?:-f|--file(?:name)?)$/.test(option) && takesPaths(command)) return files
  const format = hasOption(command, '--output') ? own(formats, option) : undefined
  return (
    format ??
    withTwoDashes(command, option) ??
    (similar === undefined ? own(sentences, option) : meant(similar))
  )
}

/** `-out=FILE` reaches the parser as the output format "ut=FILE". */
export const formatHint = (
  program: Command,
  line: readonly string[],
  value: string,
): string | undefined => withTwoDashes(namedBy(program, line), `-o${value.replace(/=.*/s, '')}`)
