/**
 * Completion candidates from this machine and the server, with the context of the completed command. No prompts, no error
 * output, short timeouts.
 */

import { parentKeyOf } from '#schemas/kind.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Api } from '../client/api.ts'
import { type ConnectFlags, type ConnectOptions, connect } from '../client/connect.ts'
import { findKind } from '../client/kind-names.ts'
import { readEstateContexts } from '../context/estate.ts'
import { type Context, openStore } from '../context/store.ts'
import { defaultServer } from '../context/target.ts'
import type { Sources } from './candidates.ts'
import type { Situation } from './situation.ts'

const timeoutSeconds = 2
/** A realm can have millions of users. */
const mostUsers = 50

export interface LiveOptions {
  readonly env: ConnectOptions['env']
  readonly cwd: string
}

const names = [
  'server',
  'realm',
  'authRealm',
  'username',
  'context',
  'config',
  'passwordFile',
] as const satisfies (keyof ConnectFlags)[]

/** A word may stand where the text of a flag is still missing. */
const connectFlags = (flags: Situation['flags']): ConnectFlags =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = flags[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )

const silently = async <T>(work: () => Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await work()
  } catch {
    return []
  }
}

export const liveSources = ({ env, cwd }: LiveOptions): Sources => {
  const contexts = async (): Promise<[string, Context][]> => {
    const estate = await readEstateContexts(cwd, env['IAMCTL_CONFIG'] || undefined)
    return Object.entries({ ...openStore(env).read().contexts, ...estate.contexts })
  }

  const ask = <T>(
    { flags }: Situation,
    work: (api: Api, realm: string | undefined) => Promise<readonly T[]>,
  ): Promise<readonly T[]> =>
    silently(async () => {
      const { api, target, close } = await connect({
        flags: connectFlags(flags),
        env,
        cwd,
        timeoutSeconds,
        insecureHttp: flags['insecureHttp'] === true,
        askPassword: () => Promise.reject(new Error('completion never asks for a password')),
      })
      try {
        return await work(api, target.realm)
      } finally {
        await close()
      }
    })

  const users: Sources['users'] = (situation) =>
    ask(situation, async (api, realm) => {
      if (realm === undefined) return []
      const { partial: text } = situation
      const search = { limit: mostUsers, ...(text === '' ? {} : { text }) }
      return (await api.users.search(realm, search)).users.map(({ username }) => username)
    })

  return {
    users,
    contexts: () => silently(async () => (await contexts()).map(([name]) => name)),
    servers: () =>
      silently(async () => {
        const known = (await contexts()).flatMap(([, { server }]) => server ?? [])
        return [...new Set([...known, defaultServer])]
      }),
    realms: (situation) =>
      ask(situation, async (api) => (await api.realms()).map(({ realm }) => realm)),
    async keys(word, situation) {
      const kind = findKind(word)
      if (kind.path === null) return users(situation)
      return ask(situation, async (api, realm) => {
        if (realm === undefined) return []
        const parent = kind.shape === 'child' ? parentKeyOf(kind, situation.partial) : undefined
        if (parent === null && kind.parentKind !== null) {
          const parents = await api.documents.list(realm, kindNamed(kind.parentKind))
          return parents.map(({ key }) => `${key}/`)
        }
        const listed = await api.documents.list(realm, kind, parent ?? undefined)
        return listed.map(({ key }) => key)
      })
    },
  }
}
