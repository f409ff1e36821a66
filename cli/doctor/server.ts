/** Checks of the server from outside: connection, version, clock, health, certificate. */

import { isObject } from '#schemas/json-schema.ts'
import { type Capability, capabilities } from '#schemas/wire/capabilities.ts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import { isLoopback } from '../client/address.ts'
import { certificateOf } from '../client/http/certificate.ts'
import type { Http } from '../client/http/http.ts'
import { type ServerInfo, serverInfo, skewOf, skewText } from '../client/http/skew.ts'
import { findingOf } from './machine.ts'

const day = 86_400_000
/** A certificate is renewed before it has fewer days left. */
const fewDays = 14
/** Beyond this, tokens are refused as expired or as not valid yet. */
const muchMs = 30_000
const littleMs = 5_000

/** What does not work without a capability. */
const uses: Readonly<Record<Capability, string>> = {
  changesets: 'apply',
  'changesets-as-lines': 'apply of large realms',
  compare: 'plan',
  export: 'plan, export',
  'export-history': 'drift',
  'idempotency-keys': 'repeating an apply',
  import: 'import',
  revisions: 'history',
  rollback: 'rollback',
  'service-account-tokens': 'signing in as a client',
}

const checkVersion = ({ version, capabilities: known }: ServerInfo): Finding => {
  const lacking = capabilities.filter((one) => !known.includes(one))
  const skew = skewOf(version)
  if (lacking.length > 0)
    return error(
      'version',
      `the server is ${version ?? 'of an unknown version'} and cannot: ${lacking.map((one) => `${one} (${uses[one]})`).join(', ')}`,
      'update the server, or use an iamctl of its version',
    )
  if (skew === null) return ok('version', `the server is ${version}, as this program`)
  const [what = '', ...rest] = skewText(skew).split(': ')
  return (skew.isFar ? error : warning)('version', what, rest.join(': '))
}

const checkClock = ({ date }: ServerInfo, askedAt: number, answeredAt: number): Finding => {
  if (date === null)
    return warning('clock', 'the server sends no time', 'a proxy may take the Date header away')
  // The header is in whole seconds, and the answer was on its way for a while.
  const early = askedAt - 1000 - date
  const late = date - answeredAt
  const off = Math.max(0, early, late)
  if (off <= littleMs) return ok('clock', 'this machine and the server agree on the time')
  const words = `the clocks of this machine and of the server differ by ${Math.round(off / 1000)} s`
  const remedy = 'set both by NTP (`timedatectl set-ntp true`)'
  return (off > muchMs ? error : warning)('clock', words, remedy)
}

const checkHealth = async (http: Http): Promise<Finding> => {
  const { body } = await http.send({ method: 'GET', path: '/monitoring/health', uncounted: true })
  const { status, components } = isObject(body) ? body : {}
  if (status === 'UP') return ok('health', 'every part of the server is up')
  const down = Object.entries(isObject(components) ? components : {})
    .filter(([, one]) => isObject(one) && one['status'] !== 'UP')
    .map(([name]) => name)
  return error(
    'health',
    `not up: ${down.join(', ') || String(status)}`,
    'see the log of the server',
  )
}

const checkTransport = async (server: string): Promise<Finding> => {
  if (!server.startsWith('https:'))
    return isLoopback(server)
      ? ok('tls', 'plain http, which does not leave this machine')
      : warning(
          'tls',
          `${server} is plain http: passwords can be read on the way`,
          'put TLS in front of it, and use https://',
        )
  const certificate = await certificateOf(server)
  if (certificate === null) return error('tls', `${server} shows no certificate`, 'check its TLS')
  const { subject, issuer, expiresAt } = certificate
  const days = Math.floor((expiresAt - Date.now()) / day)
  return days > fewDays
    ? ok('tls', `certificate of ${subject} by ${issuer}, for ${days} more days`)
    : warning('tls', `the certificate of ${subject} ends in ${days} days`, 'renew it')
}

export interface ServerCheck {
  readonly findings: readonly Finding[]
  readonly isReachable: boolean
}

export const checkServer = async (http: Http): Promise<ServerCheck> => {
  const askedAt = Date.now()
  try {
    const info = await serverInfo(http)
    const answeredAt = Date.now()
    if (info.version === undefined)
      return {
        isReachable: false,
        findings: [
          error(
            'server',
            `what answers at ${http.server} does not say that it is an iamctl server`,
            '--server (IAMCTL_SERVER) must be the address of one',
          ),
        ],
      }
    return {
      isReachable: true,
      findings: [
        ok('server', `${http.server} answers, in ${answeredAt - askedAt} ms`),
        await checkTransport(http.server),
        checkVersion(info),
        checkClock(info, askedAt, answeredAt),
        await checkHealth(http),
      ],
    }
  } catch (cause) {
    return { isReachable: false, findings: [findingOf('server', cause)] }
  }
}
