/** Arguments of a command that have no flag, and the types of what they give. */

import { Argument } from 'commander'

/** `<id>` is text, `[id]` may be missing, `[paths...]` is a list. */
type Written<Form extends string> = Form extends `${string}...${string}`
  ? string[]
  : Form extends `<${string}`
    ? string
    : string | undefined

export interface Operand<T> {
  readonly form: string
  readonly help: string
  readonly parse?: (text: string) => T
  readonly choices?: readonly string[]
  readonly default?: T
}

export const argument = <Form extends string>(form: Form, help = ''): Operand<Written<Form>> => ({
  form,
  help,
})

export type OperandValues<A extends readonly Operand<unknown>[]> = {
  [Index in keyof A]: A[Index] extends Operand<infer T> ? T : never
}

/** As the parser takes it. */
export const argumentOf = ({
  form,
  help,
  parse,
  choices,
  default: value,
}: Operand<unknown>): Argument => {
  const operand = new Argument(form, help)
  if (parse) operand.argParser(parse)
  if (choices) operand.choices(choices)
  return value === undefined ? operand : operand.default(value)
}
