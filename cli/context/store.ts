/**
 * The store of `iamctl` on this machine: contexts, and the sessions of `iamctl login`. One file of mode 0600 in the XDG
 * config folder. It never contains passwords; tokens of a sign-in with a browser are stored elsewhere.
 */

import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isObject } from '#schemas/json-schema.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { writeInPrivateFolder } from '../private-file.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** How a person or a workload signed in: the next `iamctl login` of the context does the same. */
export const signIns = ['browser', 'device', 'password', 'workload'] as const
export type SignIn = (typeof signIns)[number]

/** Where the tokens of a sign-in are. */
export const places = ['secret-tool', 'security', 'file'] as const
export type KeptIn = (typeof places)[number]

/** Where the JWT of a workload comes from, and what it is for. The JWT itself is never stored. */
export type WorkloadSource = { readonly audience: string } & (
  | { readonly from: 'github' | 'gitlab' }
  | { readonly from: 'file'; readonly file: string }
)

/** Server and identity; absent fields come from other sources. */
export interface Context {
  readonly server?: string
  readonly realm?: string
  readonly authRealm?: string
  readonly username?: string
  readonly signIn?: SignIn
}

interface Since {
  readonly username: string
  readonly since: string
}

/** Of a password the cookies of the session, of a browser or device where its tokens are, of a workload where its JWT is. */
export type StoredSession = Since &
  (
    | { readonly cookies: Readonly<Record<string, string>> }
    | { readonly keptIn: KeptIn }
    | { readonly workload: WorkloadSource }
  )

export interface Memory {
  readonly current: string | null
  readonly contexts: Readonly<Record<string, Context>>
  /** By server and realm. */
  readonly sessions: Readonly<Record<string, StoredSession>>
}

export interface Store {
  readonly file: string
  read(): Memory
  /** Reads, changes and writes; other processes that do so at the same moment may win. */
  change(change: (memory: Memory) => Memory): void
}

const nothing: Memory = { current: null, contexts: {}, sessions: {} }

/** The home of users that have none, which no program makes. */
const nowhere = '/nonexistent'

/** An empty or relative HOME would be the folder that the command runs in, such as a checkout. */
const homeOf = ({ HOME: given }: Env, registered: () => string): string => {
  if (given && isAbsolute(given)) return given
  try {
    return registered()
  } catch {
    // The number of a user in a container, without a line in the list of users.
    return nowhere
  }
}

const registeredHome = (): string => userInfo().homedir

/** A relative XDG folder is to be ignored: specifications.freedesktop.org/basedir-spec. */
export const storeFile = (env: Env, registered = registeredHome): string => {
  const given = env['XDG_CONFIG_HOME']
  const folder = given && isAbsolute(given) ? given : join(homeOf(env, registered), '.config')
  return join(folder, 'iamctl', 'config.json')
}

export const sessionKey = (server: string, authRealm: string): string =>
  `${server}/realms/${authRealm}`

/** Also below a home that is no folder: /dev/null is that of some services. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code))

const textFields = ['server', 'realm', 'authRealm', 'username'] as const

/** The fields that are text; others are of another version. */
export const contextOf = (value: unknown): Context => {
  if (!isObject(value)) return {}
  const context: Record<string, string> = {}
  for (const field of textFields)
    if (typeof value[field] === 'string') context[field] = value[field]
  const signIn = signIns.find((one) => one === value['signIn'])
  return { ...context, ...(signIn === undefined ? {} : { signIn }) }
}

const workloadOf = (value: unknown): WorkloadSource | undefined => {
  if (!isObject(value) || typeof value['audience'] !== 'string') return undefined
  const { from, file, audience } = value
  if (from === 'file') return typeof file === 'string' ? { from, file, audience } : undefined
  return from === 'github' || from === 'gitlab' ? { from, audience } : undefined
}

const sessionOf = (value: unknown): StoredSession[] => {
  if (!isObject(value)) return []
  const whose = { username: String(value['username']), since: String(value['since']) }
  const keptIn = places.find((one) => one === value['keptIn'])
  if (keptIn !== undefined) return [{ ...whose, keptIn }]
  const workload = workloadOf(value['workload'])
  if (workload !== undefined) return [{ ...whose, workload }]
  if (!isObject(value['cookies'])) return []
  const cookies = Object.fromEntries(
    Object.entries(value['cookies']).map(([name, text]) => [name, String(text)]),
  )
  return [{ ...whose, cookies }]
}

const mapped = <T>(value: unknown, read: (inner: unknown) => readonly T[]): Record<string, T> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).flatMap(([name, inner]) =>
      read(inner).map((one) => [name, one] as const),
    ),
  )

const parse = (file: string, text: string): Memory => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new CommandError(exitCodes.error, `${file} is not JSON`, {
      hint: 'repair it, or delete it and sign in again',
      cause,
    })
  }
  if (!isObject(value)) return nothing
  return {
    current: typeof value['current'] === 'string' ? value['current'] : null,
    contexts: mapped(value['contexts'], (one) => [contextOf(one)]),
    sessions: mapped(value['sessions'], sessionOf),
  }
}

const write = (file: string, memory: Memory): void => {
  if (file.startsWith(`${nowhere}/`))
    throw new CommandError(exitCodes.error, 'this user has no home folder to remember it in', {
      hint: 'set HOME or XDG_CONFIG_HOME to a folder of this user',
    })
  writeInPrivateFolder(file, `${JSON.stringify(memory, null, 2)}\n`)
}

export const openStore = (env: Env, registered = registeredHome): Store => {
  const file = storeFile(env, registered)
  const read = (): Memory => {
    try {
      return parse(file, readFileSync(file, 'utf8'))
    } catch (error) {
      if (isMissing(error)) return nothing
      throw error
    }
  }
  return { file, read, change: (change) => write(file, change(read())) }
}
