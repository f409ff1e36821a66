/**
 * Secrets that `sops` keeps (getsops.io): the program opens a whole file, once, and a key of it is the secret. Nothing but
 * the name of the file is an argument of it, so that a list of processes shows no more.
 */

import { isObject } from '#schemas/json-schema.ts'
import { withoutOwnCredentials } from '../../context/own-credentials.ts'
import { harmless } from '../../control-characters.ts'
import { readBelow } from '../paths.ts'
import { type Missing, type Outcome, type ResolveOptions, saidBy } from './resolving.ts'

const mostBytes = 4 * 1024 * 1024
const longest = 60_000

export interface Sops {
  valueOf(path: string, key: string): Promise<Outcome>
}

type Opened = { readonly content: unknown } | Missing

const failed = (message: string, more: Pick<Missing, 'hint'> = {}): Opened => ({
  code: 'secret-sops',
  message,
  ...more,
})

const run = async (path: string, { env, root }: ResolveOptions): Promise<Opened> => {
  const found = await readBelow(root, path, mostBytes)
  const shown = harmless(path)
  if ('problem' in found) return failed(`the file ${shown} of a secret ${found.problem}`)
  const { execa } = await import('execa')
  const ended = await execa('sops', ['--decrypt', '--output-type', 'json', '--', path], {
    cwd: root,
    env: withoutOwnCredentials(env),
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    timeout: longest,
    maxBuffer: mostBytes,
  })
  if (ended.code === 'ENOENT')
    return failed(`sops is not installed, and ${shown} is opened with it`, {
      hint: 'install it from https://getsops.io, and put it on PATH',
    })
  if (ended.failed)
    return failed(
      ended.timedOut
        ? `sops did not open ${shown} within ${longest / 1000} s`
        : `sops cannot open ${shown} (exit code ${ended.exitCode ?? ended.signal})`,
      saidBy(ended.stderr),
    )
  try {
    return { content: JSON.parse(ended.stdout) }
  } catch {
    // The reason would repeat what it could not read.
    return failed(`the output of sops for ${shown} is not JSON`)
  }
}

/** `clients.web` or `keys.0`; a dot that is part of a name stands behind a backslash. */
const segmentsOf = (key: string): string[] =>
  key.split(/(?<!\\)\./).map((segment) => segment.replaceAll('\\.', '.'))

const inside = (content: unknown, segment: string): unknown => {
  if (Array.isArray(content)) return content[Number(segment)]
  return isObject(content) && Object.hasOwn(content, segment) ? content[segment] : undefined
}

export const createSops = (options: ResolveOptions): Sops => {
  const opened = new Map<string, Promise<Opened>>()
  return {
    async valueOf(path, key) {
      const known = opened.get(path) ?? run(path, options)
      opened.set(path, known)
      const result = await known
      if (!('content' in result)) return result
      const value = segmentsOf(key).reduce(inside, result.content)
      if (['string', 'number', 'boolean'].includes(typeof value)) return { value: String(value) }
      const problem = value === undefined ? 'is not there' : 'is no text'
      return {
        code: 'secret-sops',
        message: `the key ${harmless(key)} of ${harmless(path)} ${problem}`,
      }
    },
  }
}
