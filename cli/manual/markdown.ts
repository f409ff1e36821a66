/** The manual as Markdown: a page per command, and one that leads to them. */

import { exitCodeHelp } from '../exit.ts'
import {
  type DescribedCommand,
  type DescribedGroup,
  type DescribedOption,
  variablesOf,
} from './described.ts'

const generated = '<!-- Generated from the commands: npm run docs -->'

/** In a table a line cannot break and a bar ends the cell; outside of code, `<` begins a tag. */
const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ')

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0
    ? []
    : [
        `| ${head.join(' | ')} |`,
        `|${head.map(() => '---').join('|')}|`,
        ...rows.map((row) => `| ${row.join(' | ')} |`),
        '',
      ]

const optionRow = ({ flags, doc, choices }: DescribedOption): string[] => [
  code(flags),
  cell(choices.length === 0 ? doc : `${doc}: ${choices.join(', ')}`),
]

const optionTables = (options: readonly DescribedOption[]): string[] =>
  [...Map.groupBy(options, ({ group }) => group)].flatMap(([group, members]) => [
    `**${group.replace(/:$/, '')}**`,
    '',
    ...table(['option', ''], members.map(optionRow)),
  ])

/** Text that is laid out by spaces keeps them. */
const prose = (text: string): string[] => {
  if (text === '') return []
  const isLaidOut = text.split('\n').some((line) => line.startsWith('  '))
  return isLaidOut ? ['```text', text, '```', ''] : [text, '']
}

const commandSection = (command: DescribedCommand, depth: number): string[] => [
  `${'#'.repeat(depth)} iamctl ${command.name}`,
  '',
  `${command.doc.charAt(0).toUpperCase()}${command.doc.slice(1)}.`,
  '',
  '```sh',
  command.usage,
  '```',
  '',
  ...table(
    ['argument', ''],
    command.arguments.map(({ name, doc }) => [code(name), cell(doc)]),
  ),
  ...prose(command.text),
  ...(command.examples.length === 0 ? [] : ['```sh', ...command.examples, '```', '']),
  ...optionTables(command.options),
  ...command.commands.flatMap((one) => commandSection(one, depth + 1)),
]

const page = (lines: readonly string[]): string =>
  `${[generated, '', ...lines].join('\n').trimEnd()}\n`

const fileOf = ({ name }: DescribedCommand): string => `${name}.md`

const indexPage = (groups: readonly DescribedGroup[]): string =>
  page([
    '# The manual of iamctl',
    '',
    'The output of `iamctl COMMAND --help`. `iamctl explain` explains kinds and fields,',
    '`iamctl validate --codes` the codes of problems in files.',
    '',
    ...groups.flatMap(({ heading, commands }) => [
      `## ${heading}`,
      '',
      ...table(
        ['command', ''],
        commands.map((command) => [`[${command.name}](${fileOf(command)})`, cell(command.doc)]),
      ),
    ]),
    '## Exit codes',
    '',
    ...table(
      ['code', ''],
      exitCodeHelp.map(([number, meaning]) => [number, cell(meaning)]),
    ),
    '## Variables',
    '',
    'A flag wins over its variable, that over the context of `iamctl.yaml`, that over `iamctl context use`.',
    '',
    ...table(
      ['variable', ''],
      variablesOf(groups).map(([name, doc]) => [code(name), cell(doc)]),
    ),
  ])

/** By their names below `docs/commands/`. */
export const markdownPages = (groups: readonly DescribedGroup[]): ReadonlyMap<string, string> =>
  new Map([
    ['README.md', indexPage(groups)],
    ...groups
      .flatMap(({ commands }) => commands)
      .map((command) => [fileOf(command), page(commandSection(command, 1))] as const),
  ])
