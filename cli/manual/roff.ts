/** The manual as a man page, in the macros of man(7). */

import { exitCodeHelp } from '../exit.ts'
import {
  type DescribedCommand,
  type DescribedGroup,
  type DescribedOption,
  variablesOf,
} from './described.ts'

const hex = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** A backslash begins an escape, a hyphen would become a typographic one, and a dot or quote that begins a line a request. */
const text = (words: string): string =>
  words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
    // What reads it may know ASCII alone.
    .replaceAll(/[^\n -~]/gu, (one) => `\\[u${hex(one)}]`)

const bold = (words: string): string => `\\fB${text(words)}\\fR`

/** An argument of a macro. */
const quoted = (words: string): string => `"${text(words).replaceAll('"', '\\(dq')}"`

const optionLines = ({ flags, doc, choices }: DescribedOption): string[] => [
  '.TP',
  bold(flags),
  text(choices.length === 0 ? doc : `${doc}: ${choices.join(', ')}`),
]

/** As it stands: examples and lists are laid out by spaces. */
const verbatim = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['.PP', '.nf', ...lines.map(text), '.fi']

const commandLines = (command: DescribedCommand): string[] => [
  `.SS ${quoted(`iamctl ${command.name}`)}`,
  `${text(command.doc.charAt(0).toUpperCase() + command.doc.slice(1))}.`,
  ...verbatim([command.usage]),
  ...command.arguments.flatMap(({ name, doc }) => ['.TP', bold(name), text(doc)]),
  ...command.options.flatMap(optionLines),
  ...verbatim(command.text === '' ? [] : command.text.split('\n')),
  ...verbatim(command.examples),
  ...command.commands.flatMap(commandLines),
]

export const manPage = (groups: readonly DescribedGroup[]): string =>
  `${[
    '.\\" Generated from the commands: npm run docs',
    '.TH IAMCTL 1 "" "iamctl" "User Commands"',
    '.SH NAME',
    text('iamctl - a GitOps identity control plane: realms as YAML, planned and applied like code'),
    '.SH SYNOPSIS',
    `${bold('iamctl')} \\fICOMMAND\\fR [options]`,
    '.SH DESCRIPTION',
    text(
      'A realm is written as YAML and reviewed like code; iamctl makes a running realm equal to it: validated offline, ' +
        'planned field by field, applied as one transaction, recorded as a revision that can be rolled back.',
    ),
    ...verbatim([
      'iamctl init shop        write realm files that work, and their pipeline',
      'iamctl dev              run a server on this machine; apply the files on every save',
      'iamctl validate         check the files offline; report every problem with its line',
      'iamctl plan             show what an apply would change, field by field',
      'iamctl apply            apply the files: one transaction, all or nothing',
      'iamctl drift            show changes made outside the files, with author and time',
    ]),
    ...groups.flatMap(({ heading, commands }) => [
      `.SH ${quoted(heading.toUpperCase())}`,
      ...commands.flatMap(commandLines),
    ]),
    '.SH EXIT STATUS',
    ...exitCodeHelp.flatMap(([code, meaning]) => ['.TP', bold(code), text(meaning)]),
    '.SH ENVIRONMENT',
    text('A flag wins over its variable.'),
    ...variablesOf(groups).flatMap(([name, doc]) => ['.TP', bold(name), text(doc)]),
    '.SH FILES',
    '.TP',
    bold('iamctl.yaml'),
    text('The estate: its name, where its files are, guards, contexts. See iamctl explain estate.'),
    '.TP',
    bold('~/.config/iamctl/config.json'),
    text('Contexts and sessions of this machine. Only its owner may read it.'),
  ].join('\n')}\n`
