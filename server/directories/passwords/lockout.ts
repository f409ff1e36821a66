/**
 * When a directory locks accounts, and how far a user is from it. A guess through this server must not lock the account in the
 * directory, where it would lock the user out of everything: we stop one attempt below.
 */

import { AndFilter, EqualityFilter, OrFilter, PresenceFilter } from 'ldapts'
import type { Connection } from '../connection/connection.ts'
import { resultCodes } from '../connection/errors.ts'
import type { Directory } from '../directory.ts'
import { comparableDn, isBelow } from '../entries/dn.ts'
import type { Entry } from '../entries/entry.ts'

export interface LockPolicy {
  /** Failures by which an account is locked. */
  readonly threshold: number
  /** How long the directory counts a failure. */
  readonly windowMs: number
}

/** Facts about a directory that change rarely. */
export interface DirectoryFacts {
  /** Of users without a policy of their own. */
  readonly lock: LockPolicy | undefined
  /** Fine-grained policies of an Active Directory domain, by comparable DN; undefined: such a policy locks no account. */
  readonly own: ReadonlyMap<string, LockPolicy | undefined>
  /** The name of an Active Directory domain, as in DOMAIN\user. */
  readonly netbiosName: string | undefined
}

/** A directory that never forgets a failure would keep its user out for ever. */
const longestWindowMs = 24 * 3_600_000

const noFacts: DirectoryFacts = { lock: undefined, own: new Map(), netbiosName: undefined }

/** The fine-grained policy that holds for a user of Active Directory, by precedence and groups. */
const resultantPolicy = 'msDS-ResultantPSO'

/** Attributes that count failures, of an entry of a user, and the policy that they are judged by. */
export const countingAttributes = ({ protocol }: Pick<Directory, 'protocol'>): string[] =>
  protocol === 'ad'
    ? ['badPwdCount', 'badPasswordTime', resultantPolicy]
    : ['pwdFailureTime', 'passwordRetryCount', 'retryCountResetTime']

/** One attempt below the lock. In a directory that locks at the first failure this would be no attempt at all, so one is made. */
export const mostFailuresOf = ({ threshold }: LockPolicy): number => Math.max(1, threshold - 1)

const strictest = (policies: readonly LockPolicy[]): LockPolicy | undefined =>
  policies.length === 0
    ? undefined
    : {
        threshold: Math.min(...policies.map(({ threshold }) => threshold)),
        windowMs: Math.max(...policies.map(({ windowMs }) => windowMs)),
      }

/** For a user whose policy is not known: no other is stricter. */
export const strictestLock = ({ lock, own }: DirectoryFacts): LockPolicy | undefined =>
  strictest([lock, ...own.values()].flatMap((one) => one ?? []))

/** The policy of a user. One that is new, or that the bind user may not read, is taken to be the strictest. */
export const lockOf = (entry: Entry, facts: DirectoryFacts): LockPolicy | undefined => {
  const name = entry.first(resultantPolicy)
  if (name === undefined) return facts.lock
  const key = comparableDn(name)
  return facts.own.has(key) ? facts.own.get(key) : strictestLock(facts)
}

/** Intervals of Active Directory: negative, in units of 100 ns. */
const intervalMs = (value: string | undefined): number => Math.abs(Number(value ?? 0)) / 10_000

/** Times of Active Directory: units of 100 ns since 1601. */
const fileTimeMs = (value: string | undefined): number =>
  Number(BigInt(/^\d+$/.test(value ?? '') ? (value ?? '0') : '0') / 10_000n) - 11_644_473_600_000

/** `20261117120000Z`, with or without a fraction (RFC 4517 §3.3.13). */
export const generalizedTimeMs = (value: string): number => {
  const [, y, mo, d, h, mi = '00', s = '00'] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)?(\d\d)?(?:[.,]\d+)?Z$/.exec(value) ?? []
  return y === undefined ? Number.NaN : Date.UTC(+y, +(mo ?? 1) - 1, +(d ?? 1), +(h ?? 0), +mi, +s)
}

/** Failures of the user that the directory still counts. */
export const failuresOf = (entry: Entry, { windowMs }: LockPolicy, now: number): number => {
  const isCounted = (at: number): boolean => now - at < windowMs
  const count = Number(entry.first('badPwdCount') ?? 0)
  if (count > 0) return isCounted(fileTimeMs(entry.first('badPasswordTime'))) ? count : 0
  // 389 Directory Server writes the count, and when it begins again.
  const retries = Number(entry.first('passwordRetryCount') ?? 0)
  if (retries > 0)
    return now < generalizedTimeMs(entry.first('retryCountResetTime') ?? '') ? retries : 0
  return entry.values('pwdFailureTime').map(generalizedTimeMs).filter(isCounted).length
}

const everything = () => new PresenceFilter({ attribute: 'objectClass' })

const readOne = async (
  connection: Connection,
  base: string,
  attributes: readonly string[],
): Promise<Entry | undefined> => {
  const { code, entries } = await connection.search({
    base,
    scope: 'base',
    filter: everything(),
    attributes,
  })
  return code === resultCodes.success ? entries[0] : undefined
}

const policyOf = (threshold: number, windowMs: number): LockPolicy | undefined =>
  threshold > 0
    ? { threshold, windowMs: windowMs > 0 ? Math.min(windowMs, longestWindowMs) : longestWindowMs }
    : undefined

/** Kept where only administrators of the domain may read, unless the bind user gets the right. */
const ownPolicies = async (
  connection: Connection,
  domain: string,
): Promise<DirectoryFacts['own']> => {
  const { entries } = await connection.search({
    base: `CN=Password Settings Container,CN=System,${domain}`,
    filter: new EqualityFilter({ attribute: 'objectClass', value: 'msDS-PasswordSettings' }),
    attributes: ['msDS-LockoutThreshold', 'msDS-LockoutObservationWindow'],
    sizeLimit: 500,
  })
  return new Map(
    entries.map((entry) => [
      comparableDn(entry.dn),
      policyOf(
        Number(entry.first('msDS-LockoutThreshold') ?? 0),
        intervalMs(entry.first('msDS-LockoutObservationWindow')),
      ),
    ]),
  )
}

const domainFacts = async (connection: Connection, root: Entry): Promise<DirectoryFacts> => {
  const domain = root.first('defaultNamingContext') ?? ''
  const facts = await readOne(connection, domain, ['lockoutThreshold', 'lockOutObservationWindow'])
  const partitions = await connection.search({
    base: `CN=Partitions,${root.first('configurationNamingContext') ?? ''}`,
    filter: new EqualityFilter({ attribute: 'nCName', value: domain }),
    attributes: ['nETBIOSName'],
  })
  const [partition] = partitions.entries
  return {
    lock: policyOf(
      Number(facts?.first('lockoutThreshold') ?? 0),
      intervalMs(facts?.first('lockOutObservationWindow')),
    ),
    own: await ownPolicies(connection, domain),
    netbiosName: partition?.first('nETBIOSName'),
  }
}

const localPolicies = new AndFilter({
  filters: [
    // Without this class in the filter, the server hides them.
    new EqualityFilter({ attribute: 'objectClass', value: 'ldapsubentry' }),
    new EqualityFilter({ attribute: 'objectClass', value: 'passwordpolicy' }),
  ],
})
const allPolicies = new OrFilter({
  filters: [new EqualityFilter({ attribute: 'objectClass', value: 'pwdPolicy' }), localPolicies],
})
const overlayAttributes = ['pwdMaxFailure', 'pwdLockout', 'pwdFailureCountInterval']
const serverAttributes = ['passwordLockout', 'passwordMaxFailure', 'passwordResetFailureCount']

/** The password policy of 389 Directory Server for all users; those of subtrees and users have the same attributes. */
export const readServerPolicy = async (connection: Connection): Promise<Entry | undefined> => {
  const { entries } = await connection.search({
    base: 'cn=config',
    scope: 'base',
    // A filter by objectClass would need the right to read it too.
    filter: new PresenceFilter({ attribute: 'passwordLockout' }),
    attributes: serverAttributes,
  })
  return entries[0]
}

const isOn = (value: string | undefined): boolean => /^(?:on|true|1)$/i.test(value ?? '')

const policyIn = (entry: Entry): LockPolicy | undefined => {
  if (isOn(entry.first('pwdLockout')))
    return policyOf(
      Number(entry.first('pwdMaxFailure') ?? 0),
      Number(entry.first('pwdFailureCountInterval') ?? 0) * 1000,
    )
  // What a policy of 389 Directory Server leaves out has these values there.
  return isOn(entry.first('passwordLockout'))
    ? policyOf(
        Number(entry.first('passwordMaxFailure') ?? 3),
        Number(entry.first('passwordResetFailureCount') ?? 600) * 1000,
      )
    : undefined
}

/** A user's own policy is known only from an attribute that few may read: the strictest of all is taken. */
const policyFacts = async (
  connection: Connection,
  root: Entry,
  { userSearchBase }: Directory,
): Promise<DirectoryFacts> => {
  const context = root.values('namingContexts').find((one) => isBelow(userSearchBase, one))
  const { entries } = await connection.search({
    base: context ?? userSearchBase,
    filter: allPolicies,
    attributes: [...overlayAttributes, ...serverAttributes],
    sizeLimit: 50,
  })
  const server = await readServerPolicy(connection)
  const policies = [...entries, ...(server ? [server] : [])].flatMap(
    (entry) => policyIn(entry) ?? [],
  )
  return { ...noFacts, lock: strictest(policies) }
}

export const readFacts = async (
  connection: Connection,
  directory: Directory,
): Promise<DirectoryFacts> => {
  const root = await readOne(connection, '', [
    'namingContexts',
    'defaultNamingContext',
    'configurationNamingContext',
  ])
  if (!root) return noFacts
  return directory.protocol === 'ad'
    ? domainFacts(connection, root)
    : policyFacts(connection, root, directory)
}
