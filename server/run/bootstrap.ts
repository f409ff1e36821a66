/** The first start on an empty database: the master realm and its administrator. */

import { readFileSync } from 'node:fs'
import { Problem } from '#schemas/problems.ts'
import { type Config, ConfigError } from '#server/config/index.ts'
import { systemCaller } from '#server/http/caller.ts'
import { randomToken } from '#server/platform/random.ts'
import { type FirstAdmin, masterRealm, type Realms } from '#server/realm/realms.ts'

/** The generated password, printed once for the operator. */
export interface Bootstrapped {
  readonly username: string
  /** Present only if the server generated it. */
  readonly password: string | null
}

const passwordIn = (file: string): string => {
  try {
    // Editors end a file with a line break; a blank may belong to the password.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch {
    throw new ConfigError(
      `--bootstrap-admin-password-file (IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_FILE): cannot read ${file}`,
    )
  }
}

const adminOf = ({ username, password, passwordFile, passwordHash }: Config['bootstrap']) => {
  if (passwordHash !== undefined) return { username, passwordHash }
  return {
    username,
    password: password ?? (passwordFile === undefined ? randomToken(18) : passwordIn(passwordFile)),
  }
}

/** Does nothing where the master realm exists. */
export const bootstrap = async (
  realms: Realms,
  config: Config['bootstrap'],
): Promise<Bootstrapped | null> => {
  if (await realms.find(masterRealm)) return null
  const admin: FirstAdmin = adminOf(config)
  try {
    await realms.create({ realm: masterRealm, admin }, systemCaller)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // Another node made it a moment ago.
    if (error.code === 'conflict') return null
    throw new ConfigError(
      `the first administrator cannot be made: ${error.message.replaceAll('/adminPassword', 'its password')}`,
    )
  }
  const given = config.password ?? config.passwordFile ?? config.passwordHash
  return {
    username: admin.username,
    password: given === undefined ? (admin.password ?? null) : null,
  }
}
