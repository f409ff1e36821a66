/** A connection for the time of one command, and the realm that it is about. */

import { type Connection, type ConnectOptions, connect } from '../../client/connect.ts'
import { orUnusable, ProblemError } from '../../client/http/errors.ts'
import type { Http } from '../../client/http/http.ts'
import { serverInfo, skewOf, skewText } from '../../client/http/skew.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { askHidden } from '../../views/human/elements/prompt.ts'
import { traceLine } from '../../views/human/elements/trace.ts'
import { isInteractive } from '../../views/streams.ts'
import { type Invocation, isOn, numberOf } from '../invocation.ts'

const askPassword: ConnectOptions['askPassword'] = async (username, realm, server) => {
  const password = isInteractive()
    ? await askHidden(`Password of ${username} in realm ${realm} at ${server}: `)
    : ''
  if (password !== '') return password
  throw new CommandError(exitCodes.denied, `no password is given for ${username}`, {
    hint: 'set IAMCTL_PASSWORD, or name its file with --password-file',
  })
}

export const connectOptions = (
  invocation: Invocation,
  estate?: ConnectOptions['estate'],
): ConnectOptions => ({
  flags: invocation.flags,
  env: invocation.env,
  cwd: process.cwd(),
  estate,
  timeoutSeconds: numberOf(invocation, 'timeout', 'IAMCTL_TIMEOUT'),
  insecureHttp:
    invocation.flags['insecureHttp'] === true || isOn(invocation.env['IAMCTL_INSECURE_HTTP']),
  trace: invocation.debug ? traceLine : undefined,
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
const tellSkew = (
  invocation: Invocation,
  version: string | undefined,
  which: 'any' | 'far',
): void => {
  const skew = skewOf(version)
  if (skew === null || invocation.output === 'json' || (which === 'far' && !skew.isFar)) return
  note(invocation, `note: ${skewText(skew)}`)
}

/**
 * Closes the connection whatever happens, so that nothing keeps the program from ending. `estate` is that of the files
 * which the command works on; else it is the one around.
 */
export const withConnection = async <T>(
  invocation: Invocation,
  work: (connection: Connection) => Promise<T>,
  estate?: ConnectOptions['estate'],
): Promise<T> => {
  const connection = await connect(connectOptions(invocation, estate))
  try {
    const result = await work(connection)
    tellSkew(invocation, connection.http.serverVersion(), 'far')
    return result
  } catch (error) {
    if (isMisunderstanding(error))
      tellSkew(invocation, await versionOf(connection.http).catch(() => undefined), 'any')
    throw connection.http.hasAnswered() ? orUnusable(connection.http.server, error) : error
  } finally {
    if (invocation.debug) traceLine(`${connection.api.requests()} requests`)
    await connection.close()
  }
}

const realmsFor = async ({ api }: Connection): Promise<string | undefined> => {
  try {
    return (await api.realms()).map(({ realm }) => realm).join(', ')
  } catch (error) {
    // Who may not list realms is told the rest all the same.
    if (error instanceof ProblemError || error instanceof CommandError) return undefined
    throw error
  }
}

const realmOf = async (connection: Connection): Promise<string> => {
  const { realm } = connection.target
  if (realm !== undefined) return realm
  const known = await realmsFor(connection)
  throw new CommandError(exitCodes.error, 'no realm is named', {
    hint: `name it with --realm (IAMCTL_REALM)${known === undefined ? '' : `; there are ${known}`}`,
  })
}

/** For commands that cannot do without a realm. */
export const withRealm = <T>(
  invocation: Invocation,
  work: (connection: Connection, realm: string) => Promise<T>,
): Promise<T> =>
  withConnection(invocation, async (connection) => work(connection, await realmOf(connection)))
