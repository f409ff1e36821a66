/** Signs a user in and checks for admin permissions before anything is stored. */

import { createApi } from '../client/api.ts'
import { discover } from '../client/discovery.ts'
import { isProblem } from '../client/http/errors.ts'
import type { Http } from '../client/http/http.ts'
import { createSession } from '../client/session.ts'
import type { Env, KeptIn } from '../context/store.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type KeptTokens, keptTokens } from './kept-tokens.ts'
import { openBrowser } from './open-browser.ts'
import { revokeTokens, type UserTokens } from './token-endpoint.ts'
import { type SignInRequest, signInWithBrowser } from './with-browser.ts'
import { signInWithDevice } from './with-device.ts'

export interface PersonParts {
  readonly http: Http
  readonly realm: string
  readonly env: Env
  /** Username that the page suggests (`login_hint`). */
  readonly suggested: string | undefined
  /** The user that must sign in, where one was named. */
  readonly wanted: string | undefined
  readonly tell: (text: string) => void
}

export interface SignedIn {
  readonly username: string
  readonly keptIn: KeptIn
}

/** Tokens that are not kept yet. */
const inMemory = (tokens: UserTokens): KeptTokens => {
  let current: UserTokens | undefined = tokens
  return {
    read: async () => current,
    write: async (next) => {
      current = next
      return 'file'
    },
    remove: async () => {
      current = undefined
    },
    alone: (work) => work(),
  }
}

const usernameOf = async ({ http, realm }: PersonParts, tokens: UserTokens): Promise<string> => {
  const kept = inMemory(tokens)
  const session = createSession(http, { by: 'user', realm, username: 'the user', kept })
  try {
    return (await createApi(http, session).whoami(realm)).username
  } catch (error) {
    if (!isProblem(error, 403)) throw error
    throw new CommandError(
      exitCodes.denied,
      `the user who signed in to realm ${realm} holds no permission there`,
      {
        hint: 'ask an administrator for a role, or name another realm to sign in to with --auth-realm',
        cause: error,
      },
    )
  }
}

const checked = async (parts: PersonParts, tokens: UserTokens): Promise<string> => {
  const username = await usernameOf(parts, tokens)
  const { wanted } = parts
  if (wanted !== undefined && wanted.toLowerCase() !== username.toLowerCase())
    throw new CommandError(exitCodes.denied, `${username} signed in instead of ${wanted}`, {
      hint: 'sign out of the realm in the browser first, or leave out --username',
    })
  return username
}

const open = async ({ env, tell }: PersonParts, url: string): Promise<void> => {
  tell(
    (await openBrowser(url, env))
      ? `Sign in in the browser that opens, or open this address on this machine:\n${url}`
      : `No browser could be started. Open this address on this machine:\n${url}`,
  )
}

export const signInPerson = async (
  parts: PersonParts,
  how: 'browser' | 'device',
): Promise<SignedIn> => {
  const { http, realm, env, suggested: username, tell } = parts
  const server = await discover(http, realm, 'to sign in to')
  const kept = keptTokens(env, http.server, realm)
  const former = await kept.read()
  const request: SignInRequest = { http, realm, server, username, tell }
  const { tokens, close } =
    how === 'device'
      ? { tokens: await signInWithDevice(request), close: async () => undefined }
      : await signInWithBrowser(request, (url) => open(parts, url))
  try {
    const name = await checked(parts, tokens)
    const keptIn = await kept.alone(() => kept.write(tokens))
    await close()
    // Nothing refers to them any more.
    if (former) await revokeTokens(http, server, former).catch(() => undefined)
    return { username: name, keptIn }
  } catch (error) {
    await close('The sign-in failed. The terminal shows the reason')
    await revokeTokens(http, server, tokens).catch(() => undefined)
    throw error
  }
}

/** Revoked on the server and gone from this machine, from here first: then they are at least nowhere on it. */
export const forgetPerson = async (http: Http, realm: string, kept: KeptTokens): Promise<void> => {
  const tokens = await kept.alone(async () => {
    const found = await kept.read()
    await kept.remove()
    return found
  })
  if (tokens) await revokeTokens(http, await discover(http, realm, 'to sign out of'), tokens)
}
