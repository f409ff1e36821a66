/** How a command was called: its flags, whether they stood before or behind its name, and the variables beside them. */

import type { Command } from 'commander'
import { CommandError, exitCodes } from '../exit.ts'

export type Flags = Readonly<Record<string, unknown>>

export interface Invocation {
  readonly flags: Flags
  readonly env: Readonly<Record<string, string | undefined>>
  /** One of the formats that the command offers. */
  readonly output: string
  readonly quiet: boolean
  readonly debug: boolean
}

/** What stands closer to the end wins; a default wins over nothing. */
export const flagsOf = (command: Command): Flags => {
  const flags: Record<string, unknown> = {}
  const ancestry: Command[] = []
  for (let one: Command | null = command; one !== null; one = one.parent) ancestry.unshift(one)
  for (const one of ancestry)
    for (const [name, value] of Object.entries(one.opts()))
      if (!(name in flags) || one.getOptionValueSource(name) !== 'default') flags[name] = value
  return flags
}

/** A variable that is a switch: anything but nothing, `0`, `false` and `no`. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && !/^(|0|false|no|off)$/i.test(value.trim())

/** What a flag or its variable says; an empty variable says nothing. */
export const textOf = (
  { flags, env }: Pick<Invocation, 'flags' | 'env'>,
  flag: string,
  variable?: string,
): string | undefined => {
  const given = flags[flag]
  if (typeof given === 'string') return given
  return variable === undefined ? undefined : env[variable] || undefined
}

export const numberOf = (
  { flags, env }: Pick<Invocation, 'flags' | 'env'>,
  flag: string,
  variable: string,
): number | undefined => {
  const given = flags[flag]
  if (typeof given === 'number') return given
  const text = env[variable]
  if (!text) return undefined
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new CommandError(exitCodes.error, `${variable} is a whole number of seconds`, {
      hint: `such as ${variable}=60`,
    })
  return Number(text)
}

/** The formats that the command offers, the first one unless told; a variable that names another says nothing. */
const outputOf = (command: Command, flags: Flags, env: Invocation['env']): string => {
  const formats = command.options.find(({ long }) => long === '--output')?.argChoices ?? ['human']
  const wished = env['IAMCTL_OUTPUT']
  const [first = 'human'] = formats
  return typeof flags['output'] === 'string'
    ? flags['output']
    : wished !== undefined && formats.includes(wished)
      ? wished
      : first
}

export const invocationOf = (command: Command, env = process.env): Invocation => {
  const flags = flagsOf(command)
  return {
    flags,
    env,
    output: outputOf(command, flags, env),
    quiet: flags['quiet'] === true || isOn(env['IAMCTL_QUIET']),
    debug: flags['debug'] === true || isOn(env['IAMCTL_DEBUG']),
  }
}
