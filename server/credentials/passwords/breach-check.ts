/** The list of breached passwords that the configuration names. */

import { type Config, ConfigError } from '#server/config/index.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import {
  type BreachCheck,
  defaultFilterFile,
  kAnonymityEndpoint,
  openFilter,
  openKAnonymityFile,
} from '#server/platform/passwords/breach.ts'

const openCorpus = (file: string): BreachCheck => {
  try {
    return openKAnonymityFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`--breach-file (IAMCTL_BREACH_FILE): ${reason}`)
  }
}

export const openBreachCheck = (
  { file, url }: Config['passwords'],
  outgoing: Outgoing,
  logger: Pick<Logger, 'warn'>,
): BreachCheck => {
  if (file !== undefined) return openCorpus(file)
  const local = openFilter(defaultFilterFile())
  if (url === undefined) return local
  const remote = kAnonymityEndpoint(url, outgoing, (message) => logger.warn(message))
  // The service may be out of reach and then lets everything pass: the local list is asked first.
  return {
    isBreached: async (password) =>
      (await local.isBreached(password)) || (await remote.isBreached(password)),
  }
}
