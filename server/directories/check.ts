/**
 * Finds what would keep users of a directory from signing in, for `iamctl doctor`: every address is dialled, bound and
 * searched once.
 */

import type { TLSSocket } from 'node:tls'
import { PresenceFilter } from 'ldapts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { type Connection, openConnection } from './connection/connection.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from './connection/errors.ts'
import type { Directory, DirectoryUrl } from './directory.ts'
import { stableIdOf } from './entries/entry.ts'
import { filterForAll, parseFilter } from './entries/filter.ts'
import { accountControl, personAttributes } from './entries/person.ts'
import {
  generalizedTimeMs,
  mostFailuresOf,
  readFacts,
  readServerPolicy,
  strictestLock,
} from './passwords/lockout.ts'

export interface CheckParts {
  readonly outgoing: Outgoing
  readonly clock: Clock
}

const dayMs = 86_400_000
const soonMs = 30 * dayMs
/** Kerberos takes no more either. */
const mostSkewMs = 300_000

/** The first certificate of the chain to expire: without its authority the certificate of the server is not trusted. */
const firstToExpire = (tls: TLSSocket): { expires: number; isAuthority: boolean } => {
  const own = tls.getPeerCertificate(true)
  const expires = Date.parse(own.valid_to)
  const above: number[] = []
  for (let one = own; one.issuerCertificate && one.issuerCertificate !== one; ) {
    one = one.issuerCertificate
    above.push(Date.parse(one.valid_to))
  }
  const first = Math.min(expires, ...above)
  return { expires: first, isAuthority: first < expires }
}

const tlsFindings = ({ tls }: Connection, where: string, now: number): Finding[] => {
  if (!tls)
    return [
      warning(
        'directory-tls',
        `${where} is asked without encryption: passwords can be read on the way`,
        'use ldaps://, or set startTls: true',
      ),
    ]
  const { expires, isAuthority } = firstToExpire(tls)
  const date = Number.isNaN(expires)
    ? 'an unknown date'
    : new Date(expires).toISOString().slice(0, 10)
  return expires - now <= soonMs
    ? [
        warning(
          'directory-tls',
          `the certificate of ${isAuthority ? 'an authority of ' : ''}${where} expires on ${date}`,
          isAuthority
            ? 'renew it, and set the new one as caCertificate, before users cannot sign in any more'
            : 'renew it before users cannot sign in any more',
        ),
      ]
    : [
        ok(
          'directory-tls',
          `${where}: ${tls.getProtocol() ?? 'TLS'}, certificate valid until ${date}`,
        ),
      ]
}

/** The one attribute of one entry; undefined where it cannot be read. */
const valueAt = async (
  connection: Connection,
  base: string,
  attribute: string,
): Promise<string | undefined> => {
  const { entries } = await connection.search({
    base,
    scope: 'base',
    filter: new PresenceFilter({ attribute: 'objectClass' }),
    attributes: [attribute],
  })
  return entries[0]?.first(attribute)
}

/**
 * What the directory says that the time is: Active Directory in its root entry, OpenLDAP and 389 Directory Server in their
 * monitor, where the bind user may read it. No other attribute tells the time of the answer.
 */
const timeOf = async (connection: Connection): Promise<string | undefined> => {
  const own = await valueAt(connection, '', 'currentTime')
  if (own !== undefined) return own
  const monitor = (await valueAt(connection, '', 'monitorContext')) ?? 'cn=monitor'
  return (
    (await valueAt(connection, `cn=Current,cn=Time,${monitor}`, 'monitorTimestamp')) ??
    (await valueAt(connection, monitor, 'currentTime'))
  )
}

const clockFindings = async (
  connection: Connection,
  where: string,
  now: number,
): Promise<Finding[]> => {
  const time = await timeOf(connection)
  const skew = time === undefined ? 0 : Math.abs(generalizedTimeMs(time) - now)
  return skew > mostSkewMs
    ? [
        warning(
          'directory-clock',
          `the clock of ${where} differs by ${Math.round(skew / 60_000)} minutes`,
          'set both clocks by NTP',
        ),
      ]
    : []
}

const searchFindings = async (
  connection: Connection,
  directory: Directory,
  where: string,
): Promise<Finding[]> => {
  const { userSearchBase, userSearchFilter, attributes, protocol } = directory
  const unknownState = warning(
    'directory-search',
    `${where}: the bind user may not read ${accountControl}: a sync takes disabled users for enabled ones`,
    `give the bind user the right to read ${accountControl}`,
  )
  const { code, entries } = await connection.search({
    base: userSearchBase,
    filter: filterForAll(userSearchFilter),
    attributes: personAttributes(directory),
    sizeLimit: 1,
  })
  if (code !== resultCodes.success && code !== resultCodes.sizeLimitExceeded)
    return [
      error(
        'directory-search',
        `${where}: ${new DirectoryRefused(`search below "${userSearchBase}"`, code).message}`,
        'correct userSearchBase, or give the bind user the right to read it',
      ),
    ]
  const [first] = entries
  if (!first)
    return [
      error(
        'directory-search',
        `${where}: no entry below "${userSearchBase}" fits ${userSearchFilter}`,
        'correct userSearchFilter, or give the bind user the right to read the entries',
      ),
    ]
  const lacking = [
    ...(stableIdOf(first, attributes.uuid) === undefined ? [attributes.uuid] : []),
    ...(first.first(attributes.uid) === undefined ? [attributes.uid] : []),
  ]
  return lacking.length > 0
    ? [
        error(
          'directory-search',
          `${where}: the first user has no ${lacking.join(' and no ')}`,
          'correct uuidAttribute and uidAttribute',
        ),
      ]
    : [
        ok('directory-search', `${where}: users are found below "${userSearchBase}"`),
        ...(protocol === 'ad' && first.first(accountControl) === undefined ? [unknownState] : []),
      ]
}

/** A sync needs the groups: without them it changes nothing. */
const groupFindings = async (
  connection: Connection,
  { groups }: Directory,
  where: string,
): Promise<Finding[]> => {
  if (!groups) return []
  const { code, entries } = await connection.search({
    base: groups.base,
    filter: parseFilter(groups.filter),
    attributes: ['1.1'],
    sizeLimit: 1,
  })
  if (code !== resultCodes.success && code !== resultCodes.sizeLimitExceeded)
    return [
      error(
        'directory-groups',
        `${where}: ${new DirectoryRefused(`search below "${groups.base}"`, code).message}`,
        'correct groupSearchBase, or give the bind user the right to read it',
      ),
    ]
  return entries.length > 0
    ? [ok('directory-groups', `${where}: groups are found below "${groups.base}"`)]
    : [
        warning(
          'directory-groups',
          `${where}: no entry below "${groups.base}" fits ${groups.filter}`,
          'correct groupFilter, or give the bind user the right to read the entries',
        ),
      ]
}

const bindFindings = async (
  connection: Connection,
  { bindDn, bindPassword }: Directory,
  where: string,
): Promise<Finding[]> => {
  if (bindDn === undefined)
    return [
      warning('directory-bind', `${where} is searched anonymously`, 'set bindDn and bindPassword'),
    ]
  if (bindPassword === undefined)
    return [error('directory-bind', `bindDn has no bindPassword`, 'set bindPassword')]
  const { code } = await connection.bind(bindDn, bindPassword)
  return code === resultCodes.success
    ? [ok('directory-bind', `${where}: bound as ${bindDn}`)]
    : [
        error(
          'directory-bind',
          `${where}: ${new DirectoryRefused(`bind as ${bindDn}`, code).message}`,
          'correct bindDn and bindPassword',
        ),
      ]
}

/** Active Directory tells which fine-grained policies hold for a user or group also to a bind user who may not read the policies. */
const hasOwnPolicies = async (connection: Connection): Promise<boolean> => {
  const { entries } = await connection.search({
    base: (await valueAt(connection, '', 'defaultNamingContext')) ?? '',
    filter: new PresenceFilter({ attribute: 'msDS-PSOApplied' }),
    attributes: ['1.1'],
    sizeLimit: 1,
  })
  return entries.length > 0
}

/** Only administrators may read the password policy of a new 389 Directory Server. */
const hidesPolicy = async (connection: Connection): Promise<boolean> =>
  /^389 /.test((await valueAt(connection, '', 'vendorName')) ?? '') &&
  (await readServerPolicy(connection)) === undefined

const lockFindings = async (connection: Connection, directory: Directory): Promise<Finding[]> => {
  const facts = await readFacts(connection, directory)
  if (directory.protocol === 'ad' && facts.own.size === 0 && (await hasOwnPolicies(connection)))
    return [
      warning(
        'directory-lockout',
        'some accounts have a fine-grained password policy that the bind user may not read: failures on the sign-in page can lock them',
        'give the bind user the right to read CN=Password Settings Container,CN=System of the domain',
      ),
    ]
  if (directory.protocol === 'ldap' && (await hidesPolicy(connection)))
    return [
      warning(
        'directory-lockout',
        'the bind user may not read the password policy of the directory: failures on the sign-in page can lock accounts there',
        'give the bind user the right to read passwordLockout, passwordMaxFailure and passwordResetFailureCount of cn=config',
      ),
    ]
  const lock = strictestLock(facts)
  if (!lock) return []
  const most = mostFailuresOf(lock)
  return most < lock.threshold
    ? [
        ok(
          'directory-lockout',
          `accounts are locked there after ${lock.threshold} failures; the realm stops after ${most}`,
        ),
      ]
    : [
        warning(
          'directory-lockout',
          'accounts are locked there after 1 failure: one wrong password on the sign-in page locks the account',
          'let the directory lock accounts after 2 failures or more',
        ),
      ]
}

const isBroken = (findings: readonly Finding[]): boolean =>
  findings.some(({ status }) => status === 'error')

const checkUrl = async (
  { outgoing, clock }: CheckParts,
  directory: Directory,
  url: DirectoryUrl,
): Promise<Finding[]> => {
  const where = url.text
  try {
    const connection = await openConnection(outgoing, directory, url)
    try {
      const findings = tlsFindings(connection, where, clock.now())
      findings.push(...(await bindFindings(connection, directory, where)))
      if (isBroken(findings)) return findings
      findings.push(...(await searchFindings(connection, directory, where)))
      findings.push(...(await groupFindings(connection, directory, where)))
      findings.push(...(await clockFindings(connection, where, clock.now())))
      if (url === directory.urls[0]) findings.push(...(await lockFindings(connection, directory)))
      return findings
    } finally {
      connection.close()
    }
  } catch (cause) {
    if (!(cause instanceof DirectoryAway) && !(cause instanceof DirectoryRefused)) throw cause
    return [
      error(
        'directory-connection',
        `${where} cannot be asked: ${cause.message}`,
        'check the address, caCertificate, and IAMCTL_OUTGOING_ALLOW of the server for private addresses',
      ),
    ]
  }
}

export const checkDirectory = async (
  parts: CheckParts,
  directory: Directory,
): Promise<readonly Finding[]> =>
  (await Promise.all(directory.urls.map((url) => checkUrl(parts, directory, url)))).flat()
