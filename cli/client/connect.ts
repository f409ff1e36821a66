/** Builds an API client from flags and variables: server, identity and credentials. */

import { readFileSync } from 'node:fs'
import { own } from '#schemas/own.ts'
import { type EstateContexts, readEstateContexts } from '../context/estate.ts'
import { openStore, type Store, type StoredSession, sessionKey } from '../context/store.ts'
import { type Target, type TargetFlags, targetOf } from '../context/target.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { unreadable } from '../named-file.ts'
import { keptTokens } from '../sign-in/kept-tokens.ts'
import { refusePlainHttp } from './address.ts'
import { type Api, createApi } from './api.ts'
import { createHttp, type Http } from './http/http.ts'
import { createSession, type Identity } from './session.ts'

export interface ConnectFlags extends TargetFlags {
  readonly config?: string | undefined
  readonly passwordFile?: string | undefined
}

export interface ConnectOptions {
  readonly flags: ConnectFlags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Where the command has read it already: that of the files it works on. */
  readonly estate?: EstateContexts | undefined
  readonly timeoutSeconds: number | undefined
  readonly insecureHttp: boolean
  readonly trace?: ((line: string) => void) | undefined
  /** Prompts for a password; throws if standard input is not a terminal. */
  readonly askPassword: (username: string, realm: string, server: string) => Promise<string>
}

export interface Way {
  readonly target: Target
  readonly store: Store
  readonly http: Http
}

export interface Connection extends Way {
  readonly api: Api
  /** Ends what was begun for it; nothing can be asked afterwards. */
  readonly close: () => Promise<void>
}

const usualTimeout = 60
/** A changeset of a hundred thousand operations takes its time. */
const slowTimeout = 600

const openTarget = async (
  { flags, env, cwd, estate }: Pick<ConnectOptions, 'flags' | 'env' | 'cwd' | 'estate'>,
  store: Store,
): Promise<Target> => {
  const file = flags.config ?? (env['IAMCTL_CONFIG'] || undefined)
  return targetOf({
    flags,
    env,
    estate: estate ?? (await readEstateContexts(cwd, file)),
    memory: store.read(),
  })
}

/** The way to the server; nothing is sent yet. */
export const openWay = async (options: ConnectOptions): Promise<Way> => {
  const { env, timeoutSeconds, trace } = options
  const store = openStore(env)
  const target = await openTarget(options, store)
  refusePlainHttp(target.server, options.insecureHttp)
  const http = createHttp({
    server: target.server,
    timeoutMs: (timeoutSeconds ?? usualTimeout) * 1000,
    slowTimeoutMs: (timeoutSeconds ?? slowTimeout) * 1000,
    trace,
    env,
  })
  return { target, store, http }
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? ''

const textOf = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw unreadable(file === '-' ? 'stdin' : file, error)
  }
}

/** The file's first line: editors end it with a line break that is none of the password's. */
export const passwordFrom = (file: string, what = 'password'): string => {
  const password = firstLine(textOf(file))
  if (password === '')
    throw new CommandError(exitCodes.error, `${file === '-' ? 'stdin' : file} holds no ${what}`, {
      hint: `its first line must be the ${what}`,
    })
  return password
}

/** A password that was given, by file or variable; it is read when it is needed. */
export const givenPassword = ({
  flags,
  env,
}: Pick<ConnectOptions, 'flags' | 'env'>): (() => string) | undefined => {
  const file = flags.passwordFile
  if (file !== undefined) return () => passwordFrom(file)
  const password = env['IAMCTL_PASSWORD']
  return password ? () => password : undefined
}

/** The secret of a client, by variable or file; it is read when it is needed. */
const clientSecret = (clientId: string, env: ConnectOptions['env']): (() => string) => {
  const file = env['IAMCTL_CLIENT_SECRET_FILE']
  if (file) return () => passwordFrom(file, 'secret')
  const secret = env['IAMCTL_CLIENT_SECRET']
  if (secret) return () => secret
  throw new CommandError(exitCodes.error, `no secret is given for client ${clientId}`, {
    hint: 'set IAMCTL_CLIENT_SECRET, or name its file in IAMCTL_CLIENT_SECRET_FILE',
  })
}

/** Ends the command unless the operator named the server that a credential would be sent to. */
export const refuseUntrusted = (
  { server, isServerTrusted }: Pick<Target, 'server' | 'isServerTrusted'>,
  credential: string,
): void => {
  if (isServerTrusted) return
  throw new CommandError(
    exitCodes.denied,
    `${credential} is not sent to ${server}: only iamctl.yaml names this server`,
    {
      hint: 'name the server with --server or IAMCTL_SERVER, or keep it with `iamctl context set NAME --server URL`',
    },
  )
}

/** Of an `iamctl login` before. */
const keptIdentity = (
  env: ConnectOptions['env'],
  { server, authRealm: realm }: Target,
  kept: StoredSession,
): Identity => {
  if ('cookies' in kept) return { by: 'session', realm, ...kept }
  if ('workload' in kept) {
    const jwt = async (): Promise<string> => {
      const { workloadJwt } = await import('../sign-in/workload/source.ts')
      return workloadJwt(env, kept.workload)
    }
    return { by: 'workload', realm, jwt }
  }
  const { username, keptIn } = kept
  return { by: 'user', realm, username, kept: keptTokens(env, server, realm, keptIn) }
}

const identityOf = (options: ConnectOptions, { target, store }: Way): Identity => {
  const { flags, env, askPassword } = options
  const { server, authRealm, username } = target
  const token = env['IAMCTL_TOKEN']
  if (token) {
    refuseUntrusted(target, 'IAMCTL_TOKEN')
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new CommandError(
        exitCodes.denied,
        'IAMCTL_TOKEN contains characters that are not allowed in a token',
        {
          hint: 'remove quotes and line breaks around the token',
        },
      )
    return { by: 'token', token }
  }
  const clientId = env['IAMCTL_CLIENT_ID']
  if (clientId) {
    refuseUntrusted(target, `the secret of the client ${clientId}`)
    return { by: 'client', realm: authRealm, clientId, secret: clientSecret(clientId, env) }
  }
  const given = givenPassword(options)
  if (given !== undefined && username !== undefined) {
    refuseUntrusted(target, `the password of ${username}`)
    return { by: 'password', realm: authRealm, username, password: async () => given() }
  }
  if (given !== undefined)
    throw new CommandError(exitCodes.error, 'a password is given without a username', {
      hint: 'name the user with --username (IAMCTL_USERNAME)',
    })
  const kept = own(store.read().sessions, sessionKey(server, authRealm))
  const wanted = flags.username ?? (env['IAMCTL_USERNAME'] || undefined)
  if (kept !== undefined && (wanted === undefined || wanted === kept.username))
    return keptIdentity(env, target, kept)
  if (username === undefined || wanted === undefined) return { by: 'nothing' }
  refuseUntrusted(target, `the password of ${username}`)
  return {
    by: 'password',
    realm: authRealm,
    username,
    password: () => askPassword(username, authRealm, server),
  }
}

export const connect = async (options: ConnectOptions): Promise<Connection> => {
  const way = await openWay(options)
  const session = createSession(way.http, identityOf(options, way))
  return {
    ...way,
    api: createApi(way.http, session),
    close: async () => {
      await session.end()
      await way.http.close()
    },
  }
}
