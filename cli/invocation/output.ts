/**
 * THE place that chooses an output format, once a command: from `--output`, else from IAMCTL_OUTPUT. A command has a view
 * per format and never asks for the format; test/architecture holds it to that.
 */

import type { Env } from './flags.ts'

export type Format = 'human' | 'json' | 'yaml' | 'markdown' | 'github' | 'sarif' | 'junit'

/** A view by format; each is loaded when it is chosen. The first one is that of a command that is not told. */
export type Views<V> = { readonly [F in Format]?: () => V | Promise<V> }

export const formatsOf = <V>(views: Views<V>): Format[] => Object.keys(views) as Format[]

/** A variable that names a format which the command does not offer says nothing. */
const formatOf = <V>(views: Views<V>, given: unknown, env: Env): Format => {
  const formats = formatsOf(views)
  const [first = 'human'] = formats
  const isOffered = (name: unknown): boolean => formats.some((format) => format === name)
  const chosen = [given, env['IAMCTL_OUTPUT']].find(isOffered)
  return (chosen as Format | undefined) ?? first
}

export interface Chosen<V> {
  readonly view: V
  /** Whether remarks beside the result are welcome on stderr: a program that reads JSON has no use for them. */
  readonly asides: boolean
}

export const chooseView = async <V>(
  views: Views<V>,
  given: unknown,
  env: Env,
): Promise<Chosen<V>> => {
  const format = formatOf(views, given, env)
  const load = views[format]
  if (load === undefined) throw new Error(`there is no view for the output ${format}`)
  return { view: await load(), asides: format !== 'json' }
}

/** Asked of the words themselves: when they are not understood, nothing else can be asked. */
export const wantsJson = (argv: readonly string[], env: Env): boolean =>
  argv.some(
    (word, index) =>
      /^(-o=?|--output=)json$/.test(word) ||
      (/^(-o|--output)$/.test(word) && argv[index + 1] === 'json'),
  ) || env['IAMCTL_OUTPUT'] === 'json'
