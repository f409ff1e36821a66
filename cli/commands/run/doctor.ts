/** Looks for what is wrong, from here to the server, and shows all of it. */

import { existsSync } from 'node:fs'
import { type Finding, ok } from '#schemas/wire/findings.ts'
import { isLoopback } from '../../client/address.ts'
import { type Connection, connect } from '../../client/connect.ts'
import { checkAccess } from '../../doctor/access.ts'
import { checkFiles, checkMemory, checkProgram, findingOf } from '../../doctor/machine.ts'
import { checkRealm } from '../../doctor/realm.ts'
import { checkServer } from '../../doctor/server.ts'
import { exitCodes } from '../../exit.ts'
import { showFindings } from '../../views/human/findings.ts'
import { printJson } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { checkLocalServer } from '../server.ts'
import { connectOptions } from './connection.ts'

/** Short: who is away for so long has an ailment of its own. */
const patienceSeconds = 10

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])

const filesOf = async (invocation: Invocation, paths: readonly string[]): Promise<Finding> => {
  const { flags, env } = invocation
  try {
    return await checkFiles({
      paths,
      overlays: listOf(flags['overlay']),
      vars: listOf(flags['var']),
      varFiles: listOf(flags['varFile']),
      cwd: process.cwd(),
      config: textOf(invocation, 'config', 'IAMCTL_CONFIG'),
      env,
    })
  } catch (cause) {
    return findingOf('files', cause)
  }
}

/** A server that keeps its data on this machine, where anything points to one. */
const localServer = async (env: Invocation['env'], server: string): Promise<readonly Finding[]> => {
  const isNamed = Boolean(env['IAMCTL_DATA'] || env['IAMCTL_DATABASE_URL'])
  if (!isNamed && !(existsSync('data/iamctl.db') && isLoopback(server))) return []
  const findings = await checkLocalServer(env)
  // It is the server that was reached, and its address is judged above.
  const isTold = ({ check, status }: Finding): boolean =>
    check === 'configuration' ? status === 'error' : !['port', 'base-url'].includes(check)
  return findings.filter(isTold).map((one) => ({ ...one, check: `local ${one.check}` }))
}

/** What the server answers to the caller; a failed sign-in is the finding that matters. */
const asCaller = async (connection: Connection): Promise<Finding[]> => {
  const access = await checkAccess(connection)
  return access.some(({ status }) => status === 'error')
    ? access
    : [...access, ...(await checkRealm(connection))]
}

const onTheWay = async (connection: Connection): Promise<Finding[]> => {
  const { target, http } = connection
  const { server, realm, context } = target
  const about = `${server}${realm === undefined ? '' : `, realm ${realm}`}`
  const { findings, isReachable } = await checkServer(http)
  return [
    ok('target', `${about} (${context === undefined ? 'no context' : `context ${context}`})`),
    ...findings,
    ...(isReachable ? await asCaller(connection) : []),
  ]
}

/** The way to the server, which a wrong context or address already blocks. */
const fromHereOn = async (invocation: Invocation): Promise<Finding[]> => {
  try {
    const connection = await connect({
      ...connectOptions(invocation),
      timeoutSeconds: connectOptions(invocation).timeoutSeconds ?? patienceSeconds,
    })
    try {
      const local = await localServer(invocation.env, connection.target.server)
      return [...(await onTheWay(connection)), ...local]
    } finally {
      await connection.close()
    }
  } catch (cause) {
    return [findingOf('target', cause)]
  }
}

export const doctor = async (invocation: Invocation, paths: readonly string[]): Promise<void> => {
  const findings = [
    checkProgram(),
    checkMemory(invocation.env),
    await filesOf(invocation, paths),
    ...(await fromHereOn(invocation)),
  ]
  const isFine = findings.every(({ status }) => status !== 'error')
  if (invocation.output === 'json') printJson({ ok: isFine, findings })
  else showFindings(findings)
  if (!isFine) process.exitCode = exitCodes.error
}
