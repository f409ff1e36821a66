/** Flags as values: how each is written, what it means, and the type of what it gives. */

import { Option } from 'commander'

export type Env = Readonly<Record<string, string | undefined>>

export interface Flag<T> {
  /** What the flag takes, such as `<user>`; empty for a switch. */
  readonly form: string
  readonly help: string
  readonly short?: string
  /** Another name that the parser takes and no help shows. */
  readonly alias?: string
  /** Environment variable that the help names. */
  readonly variable?: string
  /** Heading in the help. */
  readonly group?: string
  readonly choices?: readonly string[]
  readonly parse?: (text: string, before: never) => unknown
  /** What counts without the flag and its variable, as the help shows it. */
  readonly fallback?: string
  /** `--no-color` is the switch of `color`. */
  readonly negated?: boolean
  /** From what the parser holds, and the environment, to what the command gets. */
  readonly read: (given: unknown, env: Env) => T
}

export type Flags = Readonly<Record<string, Flag<unknown>>>

export type Values<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends Flag<infer T> ? T : never
}

interface Extras {
  readonly short?: string
  readonly alias?: string
  readonly variable?: string
  readonly group?: string
  readonly fallback?: string
}

/** A variable that is a switch: anything but nothing, `0`, `false` and `no`. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && !/^(|0|false|no|off)$/i.test(value.trim())

/** An empty variable says nothing: CI systems cannot unset. */
const variableIn = (env: Env, name: string | undefined): string | undefined =>
  name === undefined ? undefined : env[name] || undefined

/** Text; the variable counts where the flag is not given. */
export const text = (
  form: string,
  help: string,
  extras: Extras = {},
): Flag<string | undefined> => ({
  ...extras,
  form,
  help,
  read: (given, env) => (typeof given === 'string' ? given : variableIn(env, extras.variable)),
})

/** A switch. */
export const toggle = (help: string, extras: Extras = {}): Flag<boolean> => ({
  ...extras,
  form: '',
  help,
  read: (given, env) => given === true || isOn(variableIn(env, extras.variable)),
})

/** A switch that is on unless `--no-…` is given. */
export const untoggle = (help: string, extras: Extras = {}): Flag<boolean> => ({
  ...extras,
  form: '',
  help,
  negated: true,
  read: (given) => given !== false,
})

const collect = (one: string, before: readonly string[] = []): string[] => [...before, one]

/** May be repeated. */
export const list = (form: string, help: string, extras: Extras = {}): Flag<readonly string[]> => ({
  ...extras,
  form,
  help,
  parse: collect,
  read: (given) => (Array.isArray(given) ? given : []),
})

/** One of a few words. */
export const choice = <const C extends string>(
  form: string,
  help: string,
  choices: readonly C[],
  extras: Extras = {},
): Flag<C | undefined> => ({
  ...extras,
  form,
  help,
  choices,
  read: (given) => choices.find((one) => one === given),
})

/** What the parser makes of the text. The variable, if any, is read by what knows its limits. */
export const parsed = <T>(
  form: string,
  help: string,
  parse: (text: string) => T,
  extras: Extras = {},
): Flag<T | undefined> => ({
  ...extras,
  form,
  help,
  parse,
  read: (given) => given as T | undefined,
})

/** The same, of a flag that always has a value; `shown` is how a user writes it. */
export const withDefault = <T>(
  flag: Flag<T | undefined>,
  value: T,
  shown = String(value),
): Flag<T> => ({
  ...flag,
  fallback: shown,
  read: (given, env) => flag.read(given, env) ?? value,
})

/** Where two sets have the same flag, the first one counts. */
export const flags = <
  A extends Flags,
  B extends Flags = Record<never, never>,
  C extends Flags = Record<never, never>,
  D extends Flags = Record<never, never>,
>(
  first: A,
  second?: B,
  third?: C,
  fourth?: D,
): A & B & C & D => {
  const merged: Record<string, Flag<unknown>> = {}
  for (const set of [first, second, third, fourth])
    for (const [name, flag] of Object.entries(set ?? {})) merged[name] ??= flag
  return merged as A & B & C & D
}

const longName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** As the parser takes the alias of a switch. */
export const aliasesOf = ({ alias }: Flag<unknown>): Option[] =>
  alias === undefined ? [] : [new Option(`--${alias}`).hideHelp()]

const explained = ({ help, fallback, variable }: Flag<unknown>): string =>
  [
    help,
    ...(fallback === undefined ? [] : [`(default: ${fallback})`]),
    ...(variable === undefined ? [] : [`(${variable})`]),
  ].join(' ')

/** As the parser takes it. */
export const optionOf = (name: string, flag: Flag<unknown>): Option => {
  const { form, short, group, choices, parse, negated } = flag
  const long = `--${negated ? 'no-' : ''}${longName(name)}`
  const written = `${short === undefined ? '' : `-${short}, `}${long}${form === '' ? '' : ` ${form}`}`
  const option = new Option(written, explained(flag))
  if (choices) option.choices(choices)
  if (parse) option.argParser(parse as (text: string, before: unknown) => unknown)
  return group === undefined ? option : option.helpGroup(group)
}

export const valuesOf = <F extends Flags>(
  declared: F,
  given: Readonly<Record<string, unknown>>,
  env: Env,
): Values<F> =>
  Object.fromEntries(
    Object.entries(declared).map(([name, flag]) => [
      name,
      flag.read(given[name] ?? given[flag.alias ?? name], env),
    ]),
  ) as Values<F>
