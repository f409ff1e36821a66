/** The runs of `iamctl login` and `logout`: tokens or a session are stored on this machine, passwords never. */

import { own } from '#schemas/own.ts'
import {
  type ConnectOptions,
  givenPassword,
  openWay,
  refuseUntrusted,
  type Way,
} from '../client/connect.ts'
import { createJar } from '../client/http/cookies.ts'
import { signIn, signOut } from '../client/session.ts'
import { readEstateContexts } from '../context/estate.ts'
import {
  type Context,
  type Env,
  type KeptIn,
  type Memory,
  type SignIn,
  type StoredSession,
  sessionKey,
} from '../context/store.ts'
import type { Target } from '../context/target.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { askText } from '../views/human/elements/prompt.ts'
import { isInteractive, printErr } from '../views/streams.ts'
import { chooseSignIn, type SignInFlags } from './choose.ts'
import { keptTokens } from './kept-tokens.ts'

interface WorkloadFlags {
  readonly tokenFile?: string | undefined
  readonly audience?: string | undefined
}

type LoginFlags = SignInFlags & WorkloadFlags & ConnectOptions['flags']

export interface LoginRequest {
  readonly flags: LoginFlags
  readonly env: Env
  /** With the flags and variables that count. */
  readonly optionsFor: (flags: LoginFlags, env: Env) => ConnectOptions
}

const usernameOf = async ({ username, authRealm }: Target): Promise<string> => {
  if (username !== undefined) return username
  const given = isInteractive() ? await askText(`Username in realm ${authRealm}: `) : ''
  if (given !== '') return given
  throw new CommandError(exitCodes.error, 'no username is given', {
    hint: 'give --username (IAMCTL_USERNAME)',
  })
}

/** The one in use if it is of this server, else one that is called like the server. */
const contextName = (given: string | undefined, { server }: Target, memory: Memory): string => {
  if (given !== undefined) return given
  const { current } = memory
  const used = current === null ? undefined : own(memory.contexts, current)
  return current !== null && used?.server === server ? current : new URL(server).host
}

/** What the target says, over what the context said before. */
const contextFrom = (
  target: Target,
  username: string,
  signIn: SignIn,
  before: Context | undefined,
): Context => ({
  ...before,
  server: target.server,
  authRealm: target.authRealm,
  username,
  signIn,
  ...(target.realm === undefined ? {} : { realm: target.realm }),
})

const without = <T>(values: Readonly<Record<string, T>>, name: string): Record<string, T> =>
  Object.fromEntries(Object.entries(values).filter(([other]) => other !== name))

/** On the server, and of this machine what the store does not hold itself. */
const end = async (
  env: Env,
  { http, target: { server, authRealm } }: Way,
  former: StoredSession,
): Promise<void> => {
  if ('cookies' in former) return void (await signOut(http, createJar(former.cookies), authRealm))
  // Its tokens live for minutes and were never stored.
  if ('workload' in former) return
  const { forgetPerson } = await import('./person.ts')
  return forgetPerson(http, authRealm, keptTokens(env, server, authRealm, former.keptIn))
}

/** --context names the one to make: it need not be there yet. */
const forLogin = async (
  { flags, env }: LoginRequest,
  memory: Memory,
): Promise<Pick<LoginRequest, 'flags' | 'env'>> => {
  const { context: name, ...others } = flags
  if (name === undefined || own(memory.contexts, name) !== undefined) return { flags, env }
  const estate = await readEstateContexts(process.cwd(), flags.config)
  if (own(estate.contexts, name) !== undefined) return { flags, env }
  const { IAMCTL_CONTEXT: _variable, ...rest } = env
  return { flags: others, env: rest }
}

type NewSession = StoredSession extends infer One
  ? One extends StoredSession
    ? Omit<One, 'since'>
    : never
  : never

const withPassword = async (
  { http, target }: Way,
  options: ConnectOptions,
): Promise<NewSession> => {
  const { server, authRealm: realm } = target
  const username = await usernameOf(target)
  const given = givenPassword(options)
  const jar = createJar()
  const password = async () => given?.() ?? options.askPassword(username, realm, server)
  await signIn(http, jar, { realm, username, password })
  return { username, cookies: jar.entries() }
}

const asPerson = async (
  { flags, env }: LoginRequest,
  { http, target: { authRealm: realm, username: suggested } }: Way,
  how: 'browser' | 'device',
): Promise<NewSession> => {
  const { signInPerson } = await import('./person.ts')
  const wanted = flags.username
  // Printed with --quiet too: the sign-in needs it.
  return signInPerson({ http, realm, env, suggested, wanted, tell: printErr }, how)
}

const asWorkload = async (
  { flags: { tokenFile, audience }, env }: LoginRequest,
  { http, target: { authRealm: realm } }: Way,
): Promise<NewSession> => {
  const { signInWorkload } = await import('./workload/sign-in.ts')
  return signInWorkload({ http, realm, env, tokenFile, audience })
}

const make = (
  request: LoginRequest,
  way: Way,
  options: ConnectOptions,
  how: SignIn,
): Promise<NewSession> => {
  if (how === 'password') return withPassword(way, options)
  return how === 'workload' ? asWorkload(request, way) : asPerson(request, way, how)
}

export interface SignedIn {
  readonly server: string
  readonly authRealm: string
  readonly username: string
  readonly context: string
  readonly signIn: SignIn
  /** Null where nothing is: a workload is asked for its JWT each time. */
  readonly keptIn: KeptIn | null
}

export const login = async (request: LoginRequest): Promise<SignedIn> => {
  const { flags, env } = request
  const { openStore } = await import('../context/store.ts')
  const used = await forLogin(request, openStore(env).read())
  const options = request.optionsFor(used.flags, used.env)
  const way = await openWay(options)
  const { target, store, http } = way
  const { server, authRealm } = target
  try {
    // A sign-in makes a context of this machine, and that would vouch for the server from then on.
    refuseUntrusted(target, 'a sign-in')
    const memory = store.read()
    const name = contextName(flags.context, target, memory)
    const how = chooseSignIn({
      flags,
      env,
      hasPassword: givenPassword(options) !== undefined,
      isTerminal: isInteractive(),
      before: own(memory.contexts, name)?.signIn,
    })
    const key = sessionKey(server, authRealm)
    const former = own(memory.sessions, key)
    const made = await make(request, way, options, how)
    // End the replaced session, which nothing could end later; a person's replaced tokens are revoked already.
    if (former && ('cookies' in former || how === 'password' || how === 'workload'))
      await end(env, way, former).catch(() => undefined)
    const { username } = made
    store.change(({ contexts, sessions }) => ({
      current: name,
      contexts: {
        ...contexts,
        [name]: contextFrom(target, username, how, own(contexts, name)),
      },
      sessions: { ...sessions, [key]: { ...made, since: new Date().toISOString() } },
    }))
    const keptIn = 'workload' in made ? null : 'keptIn' in made ? made.keptIn : 'file'
    return { server, authRealm, username, context: name, signIn: how, keptIn }
  } finally {
    await http.close()
  }
}

export interface SignedOut {
  readonly server: string
  readonly authRealm: string
  /** Null where no session was stored. */
  readonly username: string | null
}

export const logout = async (options: ConnectOptions): Promise<SignedOut> => {
  const way = await openWay(options)
  const { http, store, target } = way
  const { server, authRealm } = target
  const key = sessionKey(server, authRealm)
  try {
    const kept = own(store.read().sessions, key)
    if (kept !== undefined) {
      // Forgotten first: if the server does not answer, the session is at least nowhere on this machine.
      store.change((memory) => ({ ...memory, sessions: without(memory.sessions, key) }))
      await end(options.env, way, kept)
    }
    return { server, authRealm, username: kept?.username ?? null }
  } finally {
    await http.close()
  }
}
