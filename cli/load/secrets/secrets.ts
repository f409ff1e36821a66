/**
 * Secrets: where each comes from, as a plan may say it, and the values themselves, which only plan and apply fetch.
 * All are fetched before the first request, so that nothing is half done when one is missing.
 */

import { own } from '#schemas/own.ts'
import { isOwnCredential } from '../../context/own-credentials.ts'
import { harmless } from '../../control-characters.ts'
import type { Diagnostic, Place } from '../../diagnostics.ts'
import type { SecretSource } from '../loaded.ts'
import { decodeText, readBelow } from '../paths.ts'
import { withoutLastBreak } from '../variables/references.ts'
import { onlyReference, parseTemplate } from '../variables/template.ts'
import { type Outcome, type ResolveOptions, saidBy } from './resolving.ts'
import { createSops, type Sops } from './sops.ts'

const mostBytes = 1024 * 1024
const longestCommand = 60_000

/** Where the value of a secret comes from, by the text that a loaded realm holds for it. */
export const sourceOf = (
  text: string,
  place: { readonly file: string; readonly pointer: string },
): SecretSource => {
  const reference = text.includes('${') ? onlyReference(parseTemplate(text)) : undefined
  if (reference === undefined)
    return {
      from: 'literal',
      get file() {
        return place.file
      },
      pointer: place.pointer,
    }
  const { type, argument } = reference
  if (type === 'env') return { from: 'env', name: argument }
  if (type === 'sops') {
    const [path = '', key = ''] = argument.split('#')
    return { from: 'sops', path, key }
  }
  return type === 'file' ? { from: 'file', path: argument } : { from: 'exec', command: argument }
}

/** The value of a literal text. */
const literalOf = (text: string): string =>
  text.includes('${')
    ? parseTemplate(text)
        .map((part) => (part.type === 'text' ? part.text : part.written))
        .join('')
    : text

export interface WantedSecret {
  readonly source: SecretSource
  /** As the loaded realm holds it; only of a literal it is looked at. */
  readonly text?: string
  /** Where a person reads about it when it cannot be had. */
  readonly place?: Place | undefined
}

const ofFile = async (path: string, root: string): Promise<Outcome> => {
  const read = await readBelow(root, path, mostBytes)
  const text = 'bytes' in read ? decodeText(read.bytes) : undefined
  if (text !== undefined) return { value: withoutLastBreak(text) }
  const problem = 'problem' in read ? read.problem : 'is not UTF-8'
  return { code: 'secret-file', message: `the file ${harmless(path)} of a secret ${problem}` }
}

const ofCommand = async (command: string, { env, root }: ResolveOptions): Promise<Outcome> => {
  const { execa } = await import('execa')
  const ended = await execa(command, {
    shell: true,
    cwd: root,
    env,
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    timeout: longestCommand,
    maxBuffer: mostBytes,
    stripFinalNewline: true,
  })
  if (!ended.failed) return { value: ended.stdout }
  const reason = ended.timedOut
    ? `did not end within ${longestCommand / 1000} s`
    : ended.isMaxBuffer
      ? 'writes more than 1 MiB'
      : ended.exitCode === undefined
        ? `was ended by ${ended.signal ?? 'the system'}`
        : `ended with exit code ${ended.exitCode}`
  // What it wrote to standard output may be the secret, or a part of it.
  return {
    code: 'secret-exec',
    message: `the command "${harmless(command)}" ${reason}`,
    ...saidBy(ended.stderr),
  }
}

/** Of a variable that is not set. */
export const unsetCode = 'secret-env'

const outcomeOf = async (
  wanted: WantedSecret,
  options: ResolveOptions,
  sops: Sops,
): Promise<Outcome> => {
  const { source } = wanted
  if (source.from === 'literal') {
    if (wanted.text !== undefined) return { value: literalOf(wanted.text) }
    const message = `the secret ${source.pointer} of ${source.file} is not at hand`
    return { code: 'secret-literal', message, hint: 'load the files it is written in' }
  }
  if (source.from === 'file') return ofFile(source.path, options.root)
  if (source.from === 'sops') return sops.valueOf(source.path, source.key)
  if (source.from === 'env') {
    if (isOwnCredential(source.name))
      return {
        code: 'secret-env-own',
        message: `${source.name} holds a credential of iamctl itself, and files cannot refer to it`,
        hint: 'give the secret in a variable of its own',
      }
    const value = own(options.env, source.name)
    if (value !== undefined) return { value }
    const message = `the environment variable ${harmless(source.name)} is not set`
    return { code: unsetCode, message }
  }
  if (options.allowExec) return ofCommand(source.command, options)
  return {
    code: 'secret-exec-refused',
    message: `the command "${harmless(source.command)}" is not run`,
    hint: 'commands in files run only with --allow-exec; use it only with files that no one else can change',
  }
}

export interface ResolvedSecrets {
  /** In the order of the list; null where it could not be had. */
  readonly values: readonly (string | null)[]
  /** Of every one, whether it comes from a variable that is not set. */
  readonly isUnset: readonly boolean[]
  readonly diagnostics: readonly Diagnostic[]
}

const emptyHint = (source: SecretSource): string =>
  source.from === 'env' ? `${source.name} is set to nothing` : 'leave the field out instead'

/** A source without a value is one error, reported at its first use with the number of uses. */
const counted = ({ message, ...rest }: Diagnostic, uses: number): Diagnostic => {
  const times = rest.place === undefined ? `${uses} times` : `${uses} times, first here`
  return { ...rest, message: uses === 1 ? message : `${message} (used ${times})` }
}

/** Fetches all of them and tells about every one that cannot be had; a source that is named twice is asked once. */
export const resolveSecrets = async (
  list: readonly WantedSecret[],
  options: ResolveOptions,
): Promise<ResolvedSecrets> => {
  const faults = new Map<string, { readonly first: Diagnostic; uses: number }>()
  const values: (string | null)[] = []
  const isUnset: boolean[] = []
  const outcomes = new Map<string, Outcome>()
  const sops = createSops(options)
  for (const wanted of list) {
    const { source, text } = wanted
    if (source.from === 'literal' && text !== undefined && text !== '') {
      values.push(literalOf(text))
      isUnset.push(false)
      continue
    }
    const name = JSON.stringify(source)
    const outcome = outcomes.get(name) ?? (await outcomeOf(wanted, options, sops))
    outcomes.set(name, outcome)
    isUnset.push('code' in outcome && outcome.code === unsetCode)
    if ('value' in outcome && outcome.value !== '') {
      values.push(outcome.value)
      continue
    }
    values.push(null)
    // Each literal is a place of its own, also where two realms of a file have the same pointer.
    const cause = source.from === 'literal' ? `${values.length} ${name}` : name
    const known = faults.get(cause)
    if (known) {
      known.uses += 1
      continue
    }
    const fault =
      'value' in outcome
        ? {
            code: 'secret-empty',
            message: 'the value of this secret is empty',
            hint: emptyHint(source),
          }
        : outcome
    const { place } = wanted
    const at = place === undefined ? {} : { place }
    faults.set(cause, { first: { severity: 'error', ...fault, ...at }, uses: 1 })
  }
  const diagnostics = [...faults.values()].map(({ first, uses }) => counted(first, uses))
  return { values, isUnset, diagnostics }
}
