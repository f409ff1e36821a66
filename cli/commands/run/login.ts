/** Signing in and out on this machine: tokens or a session are kept, a password is not. */

import { own } from '#schemas/own.ts'
import { givenPassword, openWay, refuseUntrusted, type Way } from '../../client/connect.ts'
import { createJar } from '../../client/http/cookies.ts'
import { signIn, signOut } from '../../client/session.ts'
import { readEstateContexts } from '../../context/estate.ts'
import {
  type Context,
  type Memory,
  type SignIn,
  type StoredSession,
  sessionKey,
} from '../../context/store.ts'
import type { Target } from '../../context/target.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { chooseSignIn } from '../../sign-in/choose.ts'
import { keptTokens } from '../../sign-in/kept-tokens.ts'
import { note } from '../../views/human/elements/note.ts'
import { askText } from '../../views/human/elements/prompt.ts'
import { printJson } from '../../views/json/json.ts'
import { isInteractive, printErr } from '../../views/streams.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { connectOptions } from './connection.ts'

const usernameOf = async ({ username, authRealm }: Target): Promise<string> => {
  if (username !== undefined) return username
  const given = isInteractive() ? await askText(`Username in realm ${authRealm}: `) : ''
  if (given !== '') return given
  throw new CommandError(exitCodes.error, 'no username is given', {
    hint: 'give --username (IAMCTL_USERNAME)',
  })
}

/** The one in use if it is of this server, else one that is called like the server. */
const contextName = (invocation: Invocation, { server }: Target, memory: Memory): string => {
  const given = textOf(invocation, 'context', 'IAMCTL_CONTEXT')
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
  { env }: Invocation,
  { http, target: { server, authRealm } }: Way,
  former: StoredSession,
): Promise<void> => {
  if ('cookies' in former) return void (await signOut(http, createJar(former.cookies), authRealm))
  const { forgetPerson } = await import('../../sign-in/person.ts')
  return forgetPerson(http, authRealm, keptTokens(env, server, authRealm, former.keptIn))
}

/** --context names the one to make: it need not be there yet. */
const forLogin = async (invocation: Invocation, memory: Memory): Promise<Invocation> => {
  const name = textOf(invocation, 'context', 'IAMCTL_CONTEXT')
  if (name === undefined || own(memory.contexts, name) !== undefined) return invocation
  const config = textOf(invocation, 'config', 'IAMCTL_CONFIG')
  const estate = await readEstateContexts(process.cwd(), config)
  if (own(estate.contexts, name) !== undefined) return invocation
  const { context: _flag, ...flags } = invocation.flags
  const { IAMCTL_CONTEXT: _variable, ...env } = invocation.env
  return { ...invocation, flags, env }
}

type NewSession = StoredSession extends infer One
  ? One extends StoredSession
    ? Omit<One, 'since'>
    : never
  : never

const withPassword = async (
  { http, target }: Way,
  options: ReturnType<typeof connectOptions>,
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
  invocation: Invocation,
  { http, target: { authRealm: realm, username: suggested } }: Way,
  how: 'browser' | 'device',
): Promise<NewSession> => {
  const { env } = invocation
  const { signInPerson } = await import('../../sign-in/person.ts')
  const wanted = textOf(invocation, 'username', 'IAMCTL_USERNAME')
  // Told with --quiet too: without it nobody could sign in.
  return signInPerson({ http, realm, env, suggested, wanted, tell: printErr }, how)
}

export const login = async (invocation: Invocation): Promise<void> => {
  const { openStore } = await import('../../context/store.ts')
  const options = connectOptions(await forLogin(invocation, openStore(invocation.env).read()))
  const way = await openWay(options)
  const { target, store, http } = way
  const { server, authRealm } = target
  try {
    // A sign-in makes a context of this machine, and that would vouch for the server from then on.
    refuseUntrusted(target, 'a sign-in')
    const memory = store.read()
    const name = contextName(invocation, target, memory)
    const how = chooseSignIn({
      ...invocation,
      hasPassword: givenPassword(options) !== undefined,
      isTerminal: isInteractive(),
      before: own(memory.contexts, name)?.signIn,
    })
    const key = sessionKey(server, authRealm)
    const former = own(memory.sessions, key)
    const made =
      how === 'password' ? await withPassword(way, options) : await asPerson(invocation, way, how)
    // A session that is replaced must not live on where nobody has it any more; tokens have replaced tokens already.
    if (former && ('cookies' in former || how === 'password'))
      await end(invocation, way, former).catch(() => undefined)
    const { username } = made
    store.change(({ contexts, sessions }) => ({
      current: name,
      contexts: {
        ...contexts,
        [name]: contextFrom(target, username, how, own(contexts, name)),
      },
      sessions: { ...sessions, [key]: { ...made, since: new Date().toISOString() } },
    }))
    const keptIn = 'keptIn' in made ? made.keptIn : 'file'
    if (invocation.output === 'json')
      printJson({ server, authRealm, username, context: name, signIn: how, keptIn })
    else
      note(
        invocation,
        `${username} is signed in to realm ${authRealm} at ${server}; context "${name}" is in use`,
      )
  } finally {
    await http.close()
  }
}

export const logout = async (invocation: Invocation): Promise<void> => {
  const way = await openWay(connectOptions(invocation))
  const { http, store, target } = way
  const { server, authRealm } = target
  const key = sessionKey(server, authRealm)
  try {
    const kept = own(store.read().sessions, key)
    if (kept !== undefined) {
      // Forgotten first: if the server does not answer, the session is at least nowhere on this machine.
      store.change((memory) => ({ ...memory, sessions: without(memory.sessions, key) }))
      await end(invocation, way, kept)
    }
    if (invocation.output === 'json')
      printJson({ server, authRealm, username: kept?.username ?? null })
    else
      note(
        invocation,
        kept === undefined
          ? `nobody was signed in to realm ${authRealm} at ${server} on this machine`
          : `${kept.username} is signed out of realm ${authRealm} at ${server}`,
      )
  } finally {
    await http.close()
  }
}
