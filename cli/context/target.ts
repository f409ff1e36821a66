/**
 * Resolves server, realm and user. Precedence: flag, variable, context of `iamctl.yaml`, context of `iamctl context use`,
 * default.
 */

import { own } from '#schemas/own.ts'
import { nearest } from '#schemas/text/typos.ts'
import { serverAddress } from '../client/address.ts'
import { CommandError, exitCodes } from '../exit.ts'
import type { EstateContexts } from './estate.ts'
import type { Context, Env, Memory } from './store.ts'

export const defaultServer = 'http://127.0.0.1:8080'
const defaultAuthRealm = 'master'

export interface Target {
  readonly server: string
  /** False where only a file of the estate names it: a pull request can change that file. */
  readonly isServerTrusted: boolean
  /** The realm that the command is about, where anything names one. */
  readonly realm: string | undefined
  /** The realm to sign in to. */
  readonly authRealm: string
  readonly username: string | undefined
  /** The name of the context that was used, if any. */
  readonly context: string | undefined
}

/** What may be said on the command line about the server. */
export interface TargetFlags {
  readonly server?: string | undefined
  readonly realm?: string | undefined
  readonly authRealm?: string | undefined
  readonly username?: string | undefined
  readonly context?: string | undefined
}

export interface TargetSources {
  readonly flags: TargetFlags
  readonly env: Env
  readonly estate: EstateContexts
  readonly memory: Memory
}

const unknownContext = (name: string, known: readonly string[]): CommandError => {
  const meant = nearest(name, known)
  const all = known.length === 0 ? 'there are none yet' : `there are ${known.join(', ')}`
  return new CommandError(exitCodes.error, `there is no context "${name}"`, {
    hint: meant === undefined ? `${all}; see \`iamctl context list\`` : `did you mean "${meant}"?`,
  })
}

const named = (name: string, { estate, memory }: TargetSources): Context => {
  const found = own(estate.contexts, name) ?? own(memory.contexts, name)
  if (found !== undefined) return found
  const known = new Set([...Object.keys(estate.contexts), ...Object.keys(memory.contexts)])
  throw unknownContext(name, [...known])
}

/** What a context says of another server is not for this one. */
const fits = (context: Context, server: string | undefined): boolean =>
  server === undefined ||
  context.server === undefined ||
  serverAddress(context.server) === serverAddress(server)

interface Layer {
  readonly name: string
  readonly context: Context
}

/** The contexts that apply, the stronger first. */
const layersOf = (sources: TargetSources, server: string | undefined): Layer[] => {
  const { flags, env, estate, memory } = sources
  const chosen = flags.context ?? (env['IAMCTL_CONTEXT'] || undefined)
  if (chosen !== undefined) return [{ name: chosen, context: named(chosen, sources) }]
  const layers: Layer[] = []
  let address = server
  const implied = estate.defaultContext
  const candidates = [
    ...(implied === null ? [] : [{ name: implied, context: named(implied, sources) }]),
    ...(memory.current === null
      ? []
      : [{ name: memory.current, context: own(memory.contexts, memory.current) ?? {} }]),
  ]
  for (const layer of candidates)
    if (fits(layer.context, address)) {
      layers.push(layer)
      address ??= layer.context.server
    }
  return layers
}

/**
 * Whether the operator named the server: by flag, by variable, or in a context of this machine. The default server needs no
 * name. A credential is bound to such a server, and a file of the repository cannot send it elsewhere (CWE-522).
 */
const isNamedByOperator = (
  server: string,
  given: string | undefined,
  { contexts }: Memory,
): boolean =>
  given !== undefined ||
  server === defaultServer ||
  Object.values(contexts).some((context) => context.server === server)

export const targetOf = (sources: TargetSources): Target => {
  const { flags, env } = sources
  // An empty variable is one that is not set: CI systems cannot unset.
  const given = (flag: keyof TargetFlags, variable: string): string | undefined =>
    flags[flag] ?? (env[variable] || undefined)
  const named = given('server', 'IAMCTL_SERVER')
  const layers = layersOf(sources, named)
  const inLayers = (field: keyof Context): string | undefined =>
    layers.map(({ context }) => context[field]).find((value) => value !== undefined)
  const server = serverAddress(named ?? inLayers('server') ?? defaultServer)
  return {
    server,
    isServerTrusted: isNamedByOperator(server, named, sources.memory),
    realm: given('realm', 'IAMCTL_REALM') ?? inLayers('realm'),
    authRealm: given('authRealm', 'IAMCTL_AUTH_REALM') ?? inLayers('authRealm') ?? defaultAuthRealm,
    username: given('username', 'IAMCTL_USERNAME') ?? inLayers('username'),
    context: layers[0]?.name,
  }
}
