/** From the flags of a call to a connection that ends with it, and the realm that it is about. */

import { type Connection, type ConnectOptions, connect } from '../client/connect.ts'
import { orUnusable, ProblemError } from '../client/http/errors.ts'
import type { Http } from '../client/http/http.ts'
import { serverInfo, skewOf, skewText } from '../client/http/skew.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { note } from '../views/human/elements/note.ts'
import { askHidden } from '../views/human/elements/prompt.ts'
import { traceLine } from '../views/human/elements/trace.ts'
import { isInteractive } from '../views/streams.ts'
import type { Call } from './command.ts'
import type { Env } from './flags.ts'
import type { ServerValues } from './shared-flags.ts'

const askPassword: ConnectOptions['askPassword'] = async (username, realm, server) => {
  const password = isInteractive()
    ? await askHidden(`Password of ${username} in realm ${realm} at ${server}: `)
    : ''
  if (password !== '') return password
  throw new CommandError(exitCodes.denied, `no password is given for ${username}`, {
    hint: 'set IAMCTL_PASSWORD, or name its file with --password-file',
  })
}

/** A flag wins over its variable. */
const timeoutOf = (given: number | undefined, env: Env): number | undefined => {
  const text = env['IAMCTL_TIMEOUT']
  if (given !== undefined || !text) return given
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new CommandError(exitCodes.error, 'IAMCTL_TIMEOUT is a whole number of seconds', {
      hint: 'such as IAMCTL_TIMEOUT=60',
    })
  return Number(text)
}

export const connectOptions = (
  { flags, env, debug }: Call<ServerValues>,
  estate?: ConnectOptions['estate'],
): ConnectOptions => ({
  flags,
  env,
  cwd: process.cwd(),
  estate,
  timeoutSeconds: timeoutOf(flags.timeout, env),
  insecureHttp: flags.insecureHttp,
  trace: debug ? traceLine : undefined,
  askPassword,
})

/** One of the two may speak of what the other does not know yet. */
const isMisunderstanding = (error: unknown): boolean => {
  if (error instanceof CommandError) return isMisunderstanding(error.cause)
  return error instanceof ProblemError && [400, 404, 405, 415, 422].includes(error.status)
}

const versionOf = async (http: Http): Promise<string | undefined> =>
  http.serverVersion() ?? (await serverInfo(http)).version

/** Versions that are close are only worth a word where something went wrong. */
const tellSkew = (call: Call, version: string | undefined, which: 'any' | 'far'): void => {
  const skew = skewOf(version)
  if (skew === null || !call.asides || (which === 'far' && !skew.isFar)) return
  note(call, `note: ${skewText(skew)}`)
}

/** `estate` is that of the files which the command works on; else it is the one around. */
export const openConnection = async (
  call: Call<ServerValues>,
  estate?: ConnectOptions['estate'],
): Promise<Connection> => {
  const connection = await connect(connectOptions(call, estate))
  const { http, api, close } = connection
  call.endings.push({
    done: () => tellSkew(call, http.serverVersion(), 'far'),
    failed: async (error) => {
      if (isMisunderstanding(error))
        tellSkew(call, await versionOf(http).catch(() => undefined), 'any')
      return http.hasAnswered() ? orUnusable(http.server, error) : error
    },
    close: async () => {
      if (call.debug) traceLine(`${api.requests()} requests`)
      await close()
    },
  })
  return connection
}

const realmsFor = async ({ api }: Connection): Promise<string | undefined> => {
  try {
    return (await api.realms()).map(({ realm }) => realm).join(', ')
  } catch (error) {
    // Without permission to list realms the error is shown without the list.
    if (error instanceof ProblemError || error instanceof CommandError) return undefined
    throw error
  }
}

export const realmOf = async (connection: Connection): Promise<string> => {
  const { realm } = connection.target
  if (realm !== undefined && realm !== '') return realm
  const known = await realmsFor(connection)
  throw new CommandError(exitCodes.error, 'no realm is named', {
    hint: `name it with --realm (IAMCTL_REALM)${known === undefined ? '' : `; there are ${known}`}`,
  })
}
