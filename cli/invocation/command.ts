/**
 * What a command is: its arguments and flags, what it does, and a view per output format. What it does returns a value, which
 * the view that was chosen shows; a command that shows things while it works takes the view instead (`conversation`).
 * Everything heavy is imported when a command runs: all commands are read at every start.
 */

import type { Command } from 'commander'
import type { ExitCode } from '../exit.ts'
import {
  aliasesOf,
  type Env,
  type Flag,
  type Flags,
  flags,
  optionOf,
  type Values,
  valuesOf,
} from './flags.ts'
import { argumentOf, type Operand, type OperandValues } from './operand.ts'
import { chooseView, formatsOf, type Views } from './output.ts'
import { outputFlag, outputFlags } from './shared-flags.ts'

/** What must happen when a command ends, such as closing its connection. */
export interface Ending {
  readonly done: () => void
  /** The error that the command ends with instead. */
  readonly failed: (error: unknown) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** How a command was called. */
export interface Call<V = unknown> {
  readonly flags: V
  readonly env: Env
  readonly quiet: boolean
  readonly debug: boolean
  readonly color: boolean
  /** See `Chosen` in output.ts. */
  readonly asides: boolean
  readonly endings: Ending[]
}

interface Declared<F extends Flags, A extends readonly Operand<unknown>[]> {
  readonly name: string
  readonly description: string
  /** What the help says behind the options: rules, then examples. */
  readonly help?: string
  readonly arguments?: A
  readonly flags?: F
  /** What its noun does alone. */
  readonly isDefault?: boolean
  readonly hidden?: boolean
  readonly commands?: readonly AddCommand[]
}

export interface AddCommand {
  (parent: Command): Command
  /** Name of the command that it adds. */
  readonly word: string
}

export const addCommand = (word: string, add: (parent: Command) => Command): AddCommand =>
  Object.assign(add, { word })

type Shown<R, V> = (result: R, call: Call<V>) => unknown

export interface CommandSpec<F extends Flags, A extends readonly Operand<unknown>[], R>
  extends Declared<F, A> {
  readonly run: (call: Call<Values<F>>, ...operands: OperandValues<A>) => R | Promise<R>
  readonly views: Views<Shown<R, Values<F>>>
  /** After the result was shown: an exit code that is not 0, or the error that the command ends with. */
  readonly conclude?: (result: R, call: Call<Values<F>>) => ExitCode | undefined
}

export interface ConversationSpec<F extends Flags, A extends readonly Operand<unknown>[], V>
  extends Declared<F, A> {
  readonly views: Views<V>
  /** Where the result itself says that there is none. */
  readonly failed?: (view: V, error: unknown) => void
  readonly run: (
    call: Call<Values<F>>,
    view: V,
    ...operands: OperandValues<A>
  ) => Promise<ExitCode | undefined>
}

/** What stands closer to the end wins; a default wins over nothing. */
export const givenFlags = (command: Command): Readonly<Record<string, unknown>> => {
  const given: Record<string, unknown> = {}
  const ancestry: Command[] = []
  for (let one: Command | null = command; one !== null; one = one.parent) ancestry.unshift(one)
  for (const one of ancestry)
    for (const [name, value] of Object.entries(one.opts()))
      if (!(name in given) || one.getOptionValueSource(name) !== 'default') given[name] = value
  return given
}

const add = <F extends Flags, A extends readonly Operand<unknown>[]>(
  parent: Command,
  spec: Declared<F, A>,
  more: Flags,
  action: (command: Command, operands: unknown[]) => Promise<void>,
): Command => {
  const { name, description, help, isDefault = false, hidden = false } = spec
  const command = parent.command(name, { isDefault, hidden }).description(description)
  for (const one of spec.arguments ?? []) command.addArgument(argumentOf(one))
  for (const [flag, declared] of Object.entries(flags<Flags, Flags>(spec.flags ?? {}, more)))
    for (const option of [optionOf(flag, declared), ...aliasesOf(declared)])
      command.addOption(option)
  if (help !== undefined) command.addHelpText('after', help)
  for (const addOne of spec.commands ?? []) addOne(command)
  return command.action(async (...all: unknown[]) => {
    // The parser ends its list with the flags and the command.
    await action(command, all.slice(0, -2))
  })
}

const concluded = async (
  call: Call,
  work: () => Promise<ExitCode | undefined>,
  failed: (error: unknown) => void,
): Promise<void> => {
  const { endings } = call
  try {
    const code = await work()
    if (code !== undefined) process.exitCode ??= code
    for (const ending of endings) ending.done()
  } catch (error) {
    let last = error
    for (const ending of endings) last = await ending.failed(last)
    failed(last)
    throw last
  } finally {
    for (const ending of endings) await ending.close()
  }
}

const callOf = <F extends Flags>(
  command: Command,
  declared: F,
  asides: boolean,
  env: Env,
): Call<Values<F>> => {
  const given = givenFlags(command)
  const output = valuesOf(outputFlags, given, env)
  return { flags: valuesOf(declared, given, env), env, ...output, asides, endings: [] }
}

const outputOf = <V>(views: Views<V>): Record<string, Flag<unknown>> => ({
  ...outputFlag(formatsOf(views)),
  ...outputFlags,
})

export const conversation = <
  F extends Flags = Record<never, never>,
  const A extends readonly Operand<unknown>[] = [],
  V = never,
>(
  spec: ConversationSpec<F, A, V>,
): AddCommand =>
  addCommand(spec.name, (parent) =>
    add(parent, spec, outputOf(spec.views), async (command, operands) => {
      const { env } = process
      const { view, asides } = await chooseView(spec.views, givenFlags(command)['output'], env)
      const call = callOf(command, spec.flags ?? ({} as F), asides, env)
      await concluded(
        call,
        async () => spec.run(call, view, ...(operands as OperandValues<A>)),
        (error) => spec.failed?.(view, error),
      )
    }),
  )

export const command = <
  F extends Flags = Record<never, never>,
  const A extends readonly Operand<unknown>[] = [],
  R = never,
>({
  run,
  conclude,
  ...spec
}: CommandSpec<F, A, R>): AddCommand =>
  conversation<F, A, Shown<R, Values<F>>>({
    ...spec,
    run: async (call, show, ...operands) => {
      const result = await run(call, ...operands)
      await show(result, call)
      return conclude?.(result, call)
    },
  })

/** A command whose output has one form: a script, a schema, a log. */
export const plainCommand = <
  F extends Flags = Record<never, never>,
  const A extends readonly Operand<unknown>[] = [],
>(
  spec: Declared<F, A> & {
    readonly run: (
      values: Values<F>,
      program: Command,
      ...operands: OperandValues<A>
    ) => Promise<void>
  },
): AddCommand =>
  addCommand(spec.name, (parent) =>
    add(parent, spec, {}, async (command, operands) => {
      const values = valuesOf(spec.flags ?? ({} as F), givenFlags(command), process.env)
      let program = command
      while (program.parent) program = program.parent
      await spec.run(values, program, ...(operands as OperandValues<A>))
    }),
  )

/** `iamctl sessions …`: commands about one noun. */
export const noun = (
  name: string,
  description: string,
  commands: readonly AddCommand[],
): AddCommand =>
  addCommand(name, (parent) => {
    const group = parent.command(name).description(description)
    for (const addOne of commands) addOne(group)
    return group
  })
