/** The command line at the cursor: command, arguments so far, and the word to complete. */

import type { Argument, Command, Option } from 'commander'

export interface Situation {
  readonly command: Command
  /** What has been written of the word so far, without what stands before it (`--output=`). */
  readonly partial: string
  readonly before: string
  readonly operands: readonly string[]
  /** By the names that the parser gives them. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly wanted: 'command' | 'flag' | Option | Argument | null
}

const ancestry = (command: Command): Command[] =>
  command.parent === null ? [command] : [command, ...ancestry(command.parent)]

/** What stands before the name of a command is taken behind it as well. */
const findOption = (command: Command, name: string): Option | undefined =>
  ancestry(command)
    .flatMap(({ options }) => options)
    .find(({ long, short }) => long === name || short === name)

const takesValue = ({ required, optional }: Option): boolean => required || optional

interface Reading {
  command: Command
  operands: string[]
  flags: Record<string, unknown>
  /** The option whose value comes next. */
  open: Option | undefined
  /** After `--` nothing is a flag. */
  literal: boolean
}

const put = (reading: Reading, option: Option, value: unknown): void => {
  const name = option.attributeName()
  const before = reading.flags[name]
  // Options that may be repeated are lists to the commands that have them.
  reading.flags[name] = Array.isArray(before) ? [...before, value] : value
}

const readFlag = (reading: Reading, word: string): void => {
  const [name = '', ...rest] = word.split('=')
  const option = findOption(reading.command, name)
  if (option === undefined) return
  if (!takesValue(option)) put(reading, option, !option.negate)
  else if (rest.length > 0) put(reading, option, rest.join('='))
  else reading.open = option
}

const read = (reading: Reading, word: string): void => {
  const { command, open, literal, operands } = reading
  if (open) {
    put(reading, open, word)
    reading.open = undefined
  } else if (word === '--' && !literal) reading.literal = true
  else if (word.startsWith('-') && word !== '-' && !literal) readFlag(reading, word)
  else {
    const next =
      operands.length === 0 ? command.commands.find((one) => one.name() === word) : undefined
    if (next) reading.command = next
    else operands.push(word)
  }
}

/** The argument that the next operand would be; the last one of a command may take any number. */
const argumentAt = ({ registeredArguments }: Command, index: number): Argument | undefined =>
  registeredArguments[index] ??
  (registeredArguments.at(-1)?.variadic ? registeredArguments.at(-1) : undefined)

export const situationOf = (program: Command, words: readonly string[]): Situation => {
  const last = words.at(-1) ?? ''
  const reading: Reading = {
    command: program,
    operands: [],
    flags: {},
    open: undefined,
    literal: false,
  }
  for (const word of words.slice(0, -1)) read(reading, word)
  const { command, operands, flags, open, literal } = reading
  const base = { command, operands, flags, partial: last, before: '' }
  if (open) return { ...base, wanted: open }
  if (last.startsWith('-') && !literal) {
    const cut = last.indexOf('=')
    if (cut === -1) return { ...base, wanted: 'flag' }
    const option = findOption(command, last.slice(0, cut))
    const [before, partial] = [last.slice(0, cut + 1), last.slice(cut + 1)]
    return { ...base, before, partial, wanted: option && takesValue(option) ? option : null }
  }
  if (command.commands.length > 0 && operands.length === 0) return { ...base, wanted: 'command' }
  return { ...base, wanted: argumentAt(command, operands.length) ?? null }
}
