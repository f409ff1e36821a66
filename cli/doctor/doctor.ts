/** Looks for what is wrong, from here to the server. */

import { existsSync } from 'node:fs'
import { type Finding, ok } from '#schemas/wire/findings.ts'
import { isLoopback } from '../client/address.ts'
import { type Connection, type ConnectOptions, connect } from '../client/connect.ts'
import type { FileOptions } from '../planning/estate/files.ts'
import { checkAccess } from './access.ts'
import { checkCautions } from './cautions.ts'
import { checkIdentityProviders } from './identity-providers.ts'
import { checkFiles, checkMemory, checkProgram, findingOf } from './machine.ts'
import { checkRealm } from './realm.ts'
import { checkSaml } from './saml.ts'
import { checkScimTargets } from './scim-targets.ts'
import { checkServer } from './server.ts'

/** Short: a server that takes longer is itself a problem to report. */
const patienceSeconds = 10

export interface DoctorRequest {
  readonly files: FileOptions
  /** Made when it is needed: a wrong variable is a finding too. */
  readonly connectOptions: () => ConnectOptions
  /** What the checks of a server find, by the variables alone. */
  readonly checkLocalServer: (env: FileOptions['env']) => Promise<readonly Finding[]>
}

const filesOf = async ({ files }: DoctorRequest): Promise<Finding> => {
  try {
    return await checkFiles(files)
  } catch (cause) {
    return findingOf('files', cause)
  }
}

/** A server that keeps its data on this machine, where anything points to one. */
const localServer = async (
  { files: { env }, checkLocalServer }: DoctorRequest,
  server: string,
): Promise<readonly Finding[]> => {
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
    : [
        ...access,
        ...(await checkRealm(connection)),
        ...(await checkSaml(connection, Date.now())),
        ...(await checkIdentityProviders(connection)),
        ...(await checkScimTargets(connection)),
        ...(await checkCautions(connection)),
      ]
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
const fromHereOn = async (request: DoctorRequest): Promise<Finding[]> => {
  try {
    const options = request.connectOptions()
    const connection = await connect({
      ...options,
      timeoutSeconds: options.timeoutSeconds ?? patienceSeconds,
    })
    try {
      const local = await localServer(request, connection.target.server)
      return [...(await onTheWay(connection)), ...local]
    } finally {
      await connection.close()
    }
  } catch (cause) {
    return [findingOf('target', cause)]
  }
}

export const examine = async (
  request: DoctorRequest,
): Promise<{ readonly ok: boolean; readonly findings: readonly Finding[] }> => {
  const findings = [
    checkProgram(),
    checkMemory(request.files.env),
    await filesOf(request),
    ...(await fromHereOn(request)),
  ]
  return { ok: findings.every(({ status }) => status !== 'error'), findings }
}
