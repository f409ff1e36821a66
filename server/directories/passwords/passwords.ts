/**
 * Sign-in with a password that a directory keeps: the entry of the user is found by the bind user, and the password is tried by
 * a bind as that entry. A user who is unknown here is made at the first sign-in, with a link to the entry; a name or an address
 * that another user has already is refused, never linked.
 */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Attempt } from '#server/credentials/attempt.ts'
import {
  type DirectoryAccount,
  type DirectoryCheck,
  type DirectoryPasswords,
  DirectoryUnavailable,
} from '#server/credentials/directory-passwords.ts'
import type { MovingReservation } from '#server/credentials/guessing/moving-reservation.ts'
import { createKeyedSlots } from '#server/credentials/guessing/slots.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Logger } from '#server/platform/logger.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import { assignDefaultRole } from '#server/users/memberships.ts'
import { nameOf } from '#server/users/names.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import { ownersOfNames, userById } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { DirectoryAway, DirectoryRefused } from '../connection/errors.ts'
import type { Connections } from '../connections.ts'
import { type Directory, directoriesIn } from '../directory.ts'
import type { Person } from '../entries/person.ts'
import { hasProfile, linkIssuer, profileAfter, profileOf } from '../linked-user.ts'
import type { FoundPerson, Wanted } from './find-person.ts'

export interface DirectoryPasswordParts {
  readonly storage: Pick<Storage, 'db'>
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
  readonly vault: Pick<Vault, 'reveal'>
  readonly users: Users
  readonly links: Links
  readonly connections: Connections
}

type Named = Omit<Attempt, 'password'>
type Recognise = MovingReservation['recognise']

/** A sign-in of a user of this directory. */
interface Trying {
  readonly attempt: Named
  readonly directory: Directory
  readonly password: string
  /** Of a name that is unknown here. */
  readonly recognise?: Recognise
}

/** The user who is linked to an entry. */
interface Holder {
  readonly link: FederatedLinkRow
  readonly user: UserRow
}

/** Guesses at one entry come one after the other, so that the count of the directory is known before each. */
const mostWaiting = 50

export const createDirectoryPasswords = (parts: DirectoryPasswordParts): DirectoryPasswords => {
  const { storage, copy, clock, logger, vault, users, links, connections } = parts
  const perEntry = createKeyedSlots(1, mostWaiting)

  /** The directories that users sign in through. */
  const usedIn = async (realm: string): Promise<readonly Directory[]> => {
    const view = await copy.fresh(realm)
    const all = view ? await directoriesIn(view, vault) : []
    return all.filter(({ enabled, linkOnly }) => enabled && !linkOnly)
  }

  const unavailable = (directory: Directory, error: unknown): unknown => {
    if (!(error instanceof DirectoryAway) && !(error instanceof DirectoryRefused)) return error
    const { realm, alias } = directory
    logger.warn({ realm, directory: alias, reason: error.message }, 'a directory cannot be asked')
    return new DirectoryUnavailable(directory.name, error)
  }

  const find = async (directory: Directory, wanted: Wanted): Promise<FoundPerson | undefined> => {
    const { findPerson } = await import('./find-person.ts')
    return connections
      .poolOf(directory)
      .asBindUser((connection) => findPerson(connection, directory, wanted))
  }

  const bind = async (directory: Directory, dn: string, password: string) => {
    const { outcomeOf } = await import('./bind-outcome.ts')
    return connections
      .poolOf(directory)
      .forUsers(async (connection) => outcomeOf(await connection.bind(dn, password)))
  }

  /** As long as a bind of a user who exists: the time must not tell which names there are. */
  const bindAsDecoy = async ({ directory, password }: Trying): Promise<void> => {
    await bind(directory, `cn=${randomToken()},${directory.userSearchBase}`, password)
  }

  const isTooClose = async (directory: Directory, { entry }: FoundPerson): Promise<boolean> => {
    const { failuresOf, lockOf, mostFailuresOf } = await import('./lockout.ts')
    const lock = lockOf(entry, await connections.factsOf(directory))
    return lock !== undefined && failuresOf(entry, lock, clock.now()) >= mostFailuresOf(lock)
  }

  const eventOf = (
    { attempt, directory }: Trying,
    type: AuditEvent['type'],
    user: UserRow,
    warning: string | undefined,
  ): AuditEvent => ({
    type,
    realm: attempt.realm,
    actor: user.id,
    sourceIp: attempt.address,
    outcome: 'SUCCESS',
    detail: warning === undefined ? directory.alias : `${directory.alias}: ${warning}`,
  })

  /** The first sign-in: makes the user. Undefined where a name of the entry is another user's. */
  const made = async (
    { attempt: { realm, settings }, directory }: Trying,
    person: Person,
  ): Promise<{ user: UserRow; statements: Statement[] } | undefined> => {
    const now = clock.now()
    const fields = { username: person.username, ...profileOf(directory, person) }
    const user = newUserRow(fields, { id: newId(), realm, now })
    const names = [user.username_key, ...(user.email_key === null ? [] : [user.email_key])]
    if ((await ownersOfNames(storage, realm, names)).size > 0) return undefined
    const account = { issuer: linkIssuer, subject: person.subject, username: person.username }
    return {
      user,
      statements: [
        ...users.createStatements(user),
        ...assignDefaultRole(storage, [user.id], { realm, role: settings.defaultRole }),
        ...links.link(directory, [{ ...account, userId: user.id }]),
      ],
    }
  }

  /** The profile of the entry; an address that another user has stays with that user. */
  const profileFor = async (directory: Directory, person: Person, before: UserRow) => {
    const profile = profileAfter(before, directory, person)
    const key = profile.email === null ? undefined : nameOf(profile.email).key
    const owners =
      key === undefined ? undefined : await ownersOfNames(storage, directory.realm, [key])
    const isTaken = [...(owners?.values() ?? [])].some((owner) => owner !== before.id)
    const own = { email: before.email, emailVerified: before.email_verified === 1 }
    return isTaken ? { ...profile, ...own } : profile
  }

  /** A user who is known: the profile follows the directory where `syncMode` says so. */
  const known = async (
    { directory }: Trying,
    person: Person,
    { link, user: before }: Holder,
  ): Promise<{ user: UserRow; statements: Statement[] }> => {
    const { alias, syncMode } = directory
    const touched = [
      ...(link.provider === directory.id ? [] : [links.takeOver(link, directory)]),
      links.touch(link, { alias, username: person.username }),
    ]
    if (syncMode !== 'FORCE' || before.managed === 1 || hasProfile(before, directory, person))
      return { user: before, statements: touched }
    const profile = await profileFor(directory, person, before)
    const user = changedUserRow(before, profile, clock.now())
    return { user, statements: [...users.updateStatements(before, user), ...touched] }
  }

  const linkOf = async (directory: Directory, { subject }: Person) => {
    const account = { issuer: linkIssuer, subject }
    return (await links.find(directory, account)) ?? (await links.findOrphan(directory, account))
  }

  const holderOf = async (directory: Directory, person: Person): Promise<Holder | undefined> => {
    const link = await linkOf(directory, person)
    const user = link && (await userById(storage, link.user_id))
    return user && { link, user }
  }

  const passed = async (
    trying: Trying,
    { person }: FoundPerson,
    holder: Holder | undefined,
    warning: string | undefined,
  ): Promise<DirectoryCheck> => {
    const refused = (reason: 'user-disabled' | 'name-taken') =>
      ({ matches: false, reason, user: holder?.user, directory: trying.directory.name }) as const
    if (!person.enabled) return refused('user-disabled')
    const outcome = holder ? await known(trying, person, holder) : await made(trying, person)
    if (!outcome) return refused('name-taken')
    const { user, statements } = outcome
    const type = holder ? 'IDENTITY_PROVIDER_LOGIN' : 'IDENTITY_PROVIDER_FIRST_LOGIN'
    return {
      matches: true,
      user,
      first: statements,
      events: [eventOf(trying, type, user, warning)],
    }
  }

  const tried = async (trying: Trying, found: FoundPerson): Promise<DirectoryCheck> => {
    const { directory, password, recognise } = trying
    const { person } = found
    const holder = await holderOf(directory, person)
    const refused = { matches: false, user: holder?.user, directory: directory.name } as const
    const named = { userId: holder?.user.id, name: person.username }
    const isLocked = recognise !== undefined && !(await recognise(named))
    if (isLocked || (await isTooClose(directory, found)))
      return { ...refused, reason: 'too-many-failures' }
    const outcome = await bind(directory, person.dn, password)
    return outcome.passed
      ? passed(trying, found, holder, outcome.warning)
      : { ...refused, reason: outcome.reason }
  }

  /** The entry is read again once it is its turn: guesses before it have counted. */
  const inTurn = async (trying: Trying, wanted: Wanted): Promise<DirectoryCheck | undefined> => {
    const { directory } = trying
    const seen = await find(directory, wanted)
    if (!seen) return undefined
    const { subject } = seen.person
    const release = await perEntry.acquire(`${directory.id} ${subject}`)
    if (!release) throw new DirectoryAway('too many try the same account at once')
    try {
      const { lock, own } = await connections.factsOf(directory)
      const found = lock || own.size > 0 ? await find(directory, { subject }) : seen
      return found && (await tried(trying, found))
    } finally {
      release()
    }
  }

  /** `DOMAIN\user` of this domain, and any other name as it is. */
  const nameAt = async (directory: Directory, name: string): Promise<string | undefined> => {
    const [, domain, user] = /^([^\\]+)\\([^\\]+)$/.exec(name) ?? []
    if (directory.protocol !== 'ad' || domain === undefined || user === undefined) return name
    const { netbiosName } = await connections.factsOf(directory)
    return netbiosName?.toLowerCase() === domain.toLowerCase() ? user : undefined
  }

  const asked = async <T>(directory: Directory, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask()
    } catch (error) {
      throw unavailable(directory, error)
    }
  }

  const unknownAt = ({ name }: Directory): DirectoryCheck => ({
    matches: false,
    reason: 'unknown-user',
    user: undefined,
    directory: name,
  })

  /** Of a user who has a link to an entry. */
  const linkedAccount = (
    attempt: Named,
    directory: Directory,
    { subject }: FederatedLinkRow,
    mostFailures: number | undefined,
  ): DirectoryAccount => ({
    mostFailures,
    check: (password) =>
      asked(directory, async () => {
        const trying = { attempt, directory, password }
        if (password === '') return unknownAt(directory)
        return (await inTurn(trying, { subject })) ?? unknownAt(directory)
      }),
  })

  /** Of a name that is unknown here: the first directory that has it decides. */
  const unknownAccount = (
    attempt: Named,
    directories: readonly [Directory, ...Directory[]],
    mostFailures: number | undefined,
  ): DirectoryAccount => ({
    mostFailures,
    check: async (password, recognise) => {
      const [first] = directories
      if (password === '') return unknownAt(first)
      for (const directory of directories) {
        const trying = { attempt, directory, password, recognise }
        const answer = await asked(directory, async () => {
          const name = await nameAt(directory, attempt.name)
          const found = name === undefined ? undefined : await inTurn(trying, { name })
          if (!found) await bindAsDecoy(trying)
          return found
        })
        if (answer) return answer
      }
      return unknownAt(first)
    },
  })

  /** Of a name that is unknown here: whichever policy holds for it. */
  const mostFailuresAt = async (directories: readonly Directory[]): Promise<number | undefined> => {
    const { mostFailuresOf, strictestLock } = await import('./lockout.ts')
    const facts = await Promise.all(directories.map((one) => connections.factsOf(one)))
    const most = facts.flatMap((one) => {
      const lock = strictestLock(one)
      return lock ? [mostFailuresOf(lock)] : []
    })
    return most.length > 0 ? Math.min(...most) : undefined
  }

  /** Of a linked user: the entry names the policy, where the domain has several. */
  const mostFailuresOfUser = async (
    directory: Directory,
    { subject }: FederatedLinkRow,
  ): Promise<number | undefined> => {
    const facts = await connections.factsOf(directory)
    if (facts.own.size === 0) return mostFailuresAt([directory])
    const found = await find(directory, { subject }).catch(() => undefined)
    if (!found) return mostFailuresAt([directory])
    const { lockOf, mostFailuresOf } = await import('./lockout.ts')
    const lock = lockOf(found.entry, facts)
    return lock && mostFailuresOf(lock)
  }

  /** The directory among these that a user is linked to; also one that replaced it under its alias. */
  const keeperAmong = async (directories: readonly Directory[], userId: string) => {
    if (directories.length === 0) return undefined
    const own = await links.ofUser(userId)
    for (const link of own) {
      const directory =
        directories.find(({ id }) => id === link.provider) ??
        directories.find(({ alias }) => link.issuer === linkIssuer && link.alias === alias)
      if (directory) return { directory, link }
    }
    return undefined
  }

  return {
    accountOf: async (attempt, user) => {
      const directories = await usedIn(attempt.realm)
      const [first, ...others] = directories
      if (!first) return undefined
      if (user) {
        const kept = await keeperAmong(directories, user.id)
        if (!kept) return undefined
        const { directory, link } = kept
        return linkedAccount(attempt, directory, link, await mostFailuresOfUser(directory, link))
      }
      return unknownAccount(attempt, [first, ...others], await mostFailuresAt(directories))
    },

    keeperOf: async ({ id, realm }) => (await keeperAmong(await usedIn(realm), id))?.directory.name,
  }
}
