/** Signing in and out on this machine: the session is kept, the password is not. */

import { own } from '#schemas/own.ts'
import { givenPassword, openWay, refuseUntrusted, type Way } from '../../client/connect.ts'
import { createJar } from '../../client/cookies.ts'
import { signIn, signOut } from '../../client/session.ts'
import { readEstateContexts } from '../../context/estate.ts'
import { type Context, type Memory, sessionKey } from '../../context/store.ts'
import type { Target } from '../../context/target.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/note.ts'
import { askText } from '../../views/human/prompt.ts'
import { printJson } from '../../views/json/json.ts'
import { isInteractive } from '../../views/streams.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { connectOptions } from './connection.ts'

const usernameOf = async ({ username, authRealm }: Target): Promise<string> => {
  if (username !== undefined) return username
  const given = isInteractive() ? await askText(`Username in realm ${authRealm}: `) : ''
  if (given !== '') return given
  throw new CommandError(exitCodes.error, 'it is not said whom to sign in', {
    hint: 'name them with --username (IAMCTL_USERNAME)',
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
const contextFrom = (target: Target, username: string, before: Context | undefined): Context => ({
  ...before,
  server: target.server,
  authRealm: target.authRealm,
  username,
  ...(target.realm === undefined ? {} : { realm: target.realm }),
})

const without = <T>(values: Readonly<Record<string, T>>, name: string): Record<string, T> =>
  Object.fromEntries(Object.entries(values).filter(([other]) => other !== name))

/** A session that is replaced must not live on where nobody has it any more. */
const endFormer = async ({ http, store, target }: Way): Promise<void> => {
  const key = sessionKey(target.server, target.authRealm)
  const former = own(store.read().sessions, key)
  if (former === undefined) return
  await signOut(http, createJar(former.cookies), target.authRealm).catch(() => false)
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

export const login = async (invocation: Invocation): Promise<void> => {
  const { openStore } = await import('../../context/store.ts')
  const options = connectOptions(await forLogin(invocation, openStore(invocation.env).read()))
  const way = await openWay(options)
  const { target, store, http } = way
  const { server, authRealm } = target
  try {
    // A sign-in makes a context of this machine, and that would vouch for the server from then on.
    refuseUntrusted(target, 'a sign-in')
    const username = await usernameOf(target)
    const given = givenPassword(options)
    const jar = createJar()
    await signIn(http, jar, {
      realm: authRealm,
      username,
      password: async () => given?.() ?? options.askPassword(username, authRealm, server),
    })
    await endFormer(way)
    const name = contextName(invocation, target, store.read())
    store.change((memory) => ({
      current: name,
      contexts: {
        ...memory.contexts,
        [name]: contextFrom(target, username, own(memory.contexts, name)),
      },
      sessions: {
        ...memory.sessions,
        [sessionKey(server, authRealm)]: {
          username,
          cookies: jar.entries(),
          since: new Date().toISOString(),
        },
      },
    }))
    if (invocation.output === 'json') printJson({ server, authRealm, username, context: name })
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
  const { http, store, target } = await openWay(connectOptions(invocation))
  const { server, authRealm } = target
  const key = sessionKey(server, authRealm)
  try {
    const kept = own(store.read().sessions, key)
    if (kept !== undefined) {
      // Forgotten first: if the server does not answer, the session is at least nowhere on this machine.
      store.change((memory) => ({ ...memory, sessions: without(memory.sessions, key) }))
      await signOut(http, createJar(kept.cookies), authRealm)
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
