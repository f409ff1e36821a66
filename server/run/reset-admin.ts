/**
 * `iamctl server reset-admin`: recovery of the last administrator, with access to the host and the master key. A message never
 * resets an administrator, so without another administrator no other way exists. The account gets a password that is
 * printed once and must be changed; second factors, sessions and locks are removed.
 */

import { ConfigError, type ConfigSources, loadConfig } from '#server/config/index.ts'
import { removeCredential } from '#server/credentials/credential-removal.ts'
import { credentialsOf } from '#server/credentials/credentials.ts'
import { systemCaller } from '#server/http/caller.ts'
import { systemClock } from '#server/platform/clock.ts'
import { createLogger } from '#server/platform/logger.ts'
import { randomToken } from '#server/platform/random.ts'
import { masterRealm } from '#server/realm/realms.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { requireSettings } from '#server/storage/documents/settings.ts'
import { readSchema } from '#server/storage/maintenance.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type LowerAreas, openLowerAreas } from './open.ts'

export interface ResetAdmin {
  readonly realm: string
  readonly username: string
  /** Shown once. */
  readonly password: string
  /** How many second factors and recovery codes were removed. */
  readonly factors: number
}

/** With a character of each class that a password policy can require. */
const newPassword = (): string => `${randomToken(18)}-aA1`

const requiring = ({ required_actions }: UserRow): string =>
  JSON.stringify([...new Set([...(JSON.parse(required_actions) as string[]), 'UPDATE_PASSWORD'])])

const administratorIn = async (
  { store, ranks }: LowerAreas['users'],
  view: RealmView,
  name: string,
): Promise<UserRow> => {
  const user = await store.find(view.realm, name)
  if (!user) throw new ConfigError(`there is no user "${name}" in the realm ${view.realm}`)
  if (!(await ranks.permissionsOf(view, user.id)).has('realm-admin'))
    throw new ConfigError(
      `the user "${name}" of the realm ${view.realm} does not hold realm-admin: name one who does`,
    )
  return user
}

const resetIn = async (areas: LowerAreas, name: string): Promise<ResetAdmin> => {
  const { copy, users, credentials, sessions, storage } = areas
  const { passwords, bruteForce } = credentials
  const { recorder } = areas.audit
  const view = await copy.fresh(masterRealm)
  if (!view) throw new ConfigError('there is no administrator yet: start the server first')
  const user = await administratorIn(users, view, name)
  const password = newPassword()
  const { statements, errors } = await passwords.prepare(
    await requireSettings(view),
    user,
    password,
  )
  if (errors.length > 0)
    throw new ConfigError(
      `the password policy of the realm ${view.realm} refuses a random password: ${errors.map(({ message }) => message).join('; ')}`,
    )
  const all = await credentialsOf(storage, user.id)
  const others = all.filter(({ type }) => type !== 'password')
  const { actor, sourceIp } = systemCaller
  const event = {
    realm: view.realm,
    actor,
    sourceIp,
    outcome: 'SUCCESS',
    resourceType: 'users',
    resourceId: user.id,
    detail: 'iamctl server reset-admin',
  } as const
  await recorder.commit(
    [
      ...statements,
      ...users.store.updateStatements(user, {
        ...user,
        required_actions: requiring(user),
        locked: 0,
      }),
      ...others.flatMap((credential) => removeCredential(storage, credential)),
      ...sessions.revokeAllOf(user.id),
      ...bruteForce.unlockStatements(view.realm, user.id),
    ],
    [
      { ...event, type: 'ADMIN_UPDATE' },
      { ...event, type: 'RESET_PASSWORD' },
    ],
  )
  return { realm: view.realm, username: user.username, password, factors: others.length }
}

export const resetAdmin = async (sources: ConfigSources, name: string): Promise<ResetAdmin> => {
  const config = loadConfig(sources)
  // Before it is opened: with a wrong address nothing must be made.
  if (!(await readSchema(config.database.url)).exists)
    throw new ConfigError('there is no database: name it with --data or IAMCTL_DATABASE_URL')
  const logger = createLogger({ level: 'error' })
  const areas = await openLowerAreas({ config, logger, clock: systemClock })
  try {
    return await resetIn(areas, name)
  } finally {
    await areas.close()
  }
}
