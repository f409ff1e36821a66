/**
 * The composition root: opens every area in the order of its needs, by one function each, which takes what it needs by name and
 * returns what it offers. `app.ts` registers the routes, `background.ts` starts what the server does by itself.
 */

import { openAdmin } from '#server/admin/open.ts'
import { openAudit } from '#server/audit/open.ts'
import { openAuthz } from '#server/authz/open.ts'
import { openBroker } from '#server/broker/open.ts'
import type { Config } from '#server/config/index.ts'
import { openCredentials } from '#server/credentials/open.ts'
import { openDirectories } from '#server/directories/open.ts'
import { openHttp } from '#server/http/open.ts'
import { openJobs } from '#server/jobs/queue.ts'
import { keyAtHand } from '#server/keys/installation-key.ts'
import { openKeys } from '#server/keys/open.ts'
import { openSecrets } from '#server/keys/secrets.ts'
import { openMessaging } from '#server/messaging/sender.ts'
import { openMetrics } from '#server/metrics/open.ts'
import { openOidc } from '#server/oidc/open.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import { openPlatform } from '#server/platform/open.ts'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import type { PasswordEngine } from '#server/platform/passwords/engine.ts'
import { openAgents } from '#server/provisioning/agents/open.ts'
import { openProvisioning } from '#server/provisioning/open.ts'
import { openScimIn } from '#server/provisioning/scim/in/open.ts'
import { openScimOut } from '#server/provisioning/scim/out/open.ts'
import { openSignals } from '#server/provisioning/signals/open.ts'
import { openRealm } from '#server/realm/open.ts'
import { masterRealm as master } from '#server/realm/realms.ts'
import { openSaml } from '#server/saml/open.ts'
import { openSelfService } from '#server/self-service/open.ts'
import { openSessions } from '#server/sessions/sessions.ts'
import { openSignIn } from '#server/sign-in/open.ts'
import type { Wait } from '#server/storage/contract.ts'
import { copyLimits, createCopy } from '#server/storage/documents/copy.ts'
import { openStorage } from '#server/storage/open.ts'
import { openTokens } from '#server/tokens/open.ts'
import { openUsers } from '#server/users/open.ts'
import { openWebhooks } from '#server/webhooks/open.ts'
import { mapError } from './map-error.ts'

/** The inputs of a server. */
export interface Given {
  readonly config: Config
  readonly logger: Logger
  readonly clock: Clock
  /** Resolves host names of outgoing requests; the resolver of the system by default. */
  readonly lookup?: Lookup | undefined
  /** Hashes passwords; the fastest installed library by default. */
  readonly engine?: PasswordEngine | undefined
  /** How long a start waits for an unreachable database; a command of an operator fails at once. */
  readonly wait?: Wait
}

/** The areas up to the sessions, without realms, protocols and routes: a command about users needs no more. */
// biome-ignore format: a line per area, so that the whole order is seen at once
const openLower = async (given: Given, closing: AsyncDisposableStack) => {
  const { config, logger, clock, lookup, engine } = given
  const { http: { baseUrl }, runtime: { logMessages } } = config
  // Before the database is opened: nothing is made in a database that no master key is given for.
  const masterKey = keyAtHand(config)
  const storage = await openStorage({ url: config.database.url, logger, wait: given.wait })
  closing.defer(() => storage.close())
  const secrets = await openSecrets({ config, storage, given: masterKey })
  const { keyring, vault } = secrets
  const copy = createCopy(storage, copyLimits)
  closing.defer(() => copy.close())
  const platform = await openPlatform({ config, lookup, engine })
  closing.defer(platform.close)
  const { outgoing } = platform
  const metrics = openMetrics({ storage, copy, clock, platform })
  const jobs = openJobs({ storage, clock, logger, metrics })
  const audit = await openAudit({ storage, clock, logger, secrets, outgoing, jobs, master })
  closing.defer(audit.close)
  const { recorder } = audit
  const keys = openKeys({ storage, copy, clock, logger, keyring, recorder })
  closing.defer(keys.close)
  const messaging = openMessaging({ outgoing, clock, logger, reveal: vault.reveal, logMessages })
  closing.defer(() => messaging.close())
  const users = openUsers({ storage, copy, clock, secrets, metrics, jobs, recorder, messaging, baseUrl })
  const directories = openDirectories({ storage, copy, clock, logger, outgoing, vault, users })
  closing.defer(async () => directories.close())
  const { passwords } = directories
  const credentials = openCredentials({ config, storage, clock, logger, secrets, platform, recorder, users, directories: passwords })
  const sessions = openSessions({ storage, clock, users })
  return {
    given, storage, copy, secrets, platform, metrics, jobs, audit, keys, messaging, users, directories, credentials, sessions,
    close: () => closing.disposeAsync(),
  }
}

// biome-ignore format: a line per area, so that the whole order is seen at once
const openAreas = async (given: Given, closing: AsyncDisposableStack) => {
  const { config, logger, clock } = given
  const { http: { baseUrl } } = config
  const lower = await openLower(given, closing)
  const { storage, copy, secrets, platform, metrics, jobs, audit, keys, messaging, users, directories, credentials, sessions, close } = lower
  const { keyring, vault } = secrets
  const { outgoing } = platform
  const { recorder } = audit
  const tokens = openTokens({ storage, copy, clock, secrets, keys, users, baseUrl, master })
  const realm = openRealm({ config, storage, copy, clock, secrets, recorder, users, credentials })
  const { directoryGroups: groups, lastAdmin: { aroundData: keepAdministrator } } = realm
  const { sync: syncDirectory, scheduled: scheduledSyncs } = directories.openSync({ recorder, groups, keepAdministrator })
  const authz = openAuthz({ storage, copy, clock, realm })
  const webhooks = openWebhooks({ storage, copy, clock, logger, outgoing, vault, jobs, audit, realm })
  const http = openHttp({ baseUrl, clock, secrets, mapError, metrics })
  const broker = openBroker({ storage, copy, clock, secrets, outgoing, recorder, metrics, jobs, keys, users, sessions, tokens, http })
  const signIn = openSignIn({
    storage, copy, clock, keyring, recorder, metrics, messaging, users, credentials, sessions, tokens, broker, realm, http, baseUrl,
    master,
  })
  const saml = openSaml({ storage, clock, logger, outgoing, recorder, metrics, jobs, keys, sessions, tokens, realm, http, signIn })
  const { beginSamlLogout } = saml
  const provisioning = openProvisioning({ storage, clock, logger, secrets, outgoing, recorder, metrics, tokens, realm, http })
  const signals = openSignals({ storage, clock, logger, outgoing, vault, recorder, jobs, audit, tokens })
  const oidc = openOidc({
    storage, clock, logger, secrets, outgoing, recorder, metrics, jobs, messaging, keys, users, credentials, sessions, tokens, authz, http, signIn,
    beginSamlLogout, broker, provisioning,
  })
  const scimOut = openScimOut({ storage, copy, clock, logger, outgoing, vault, metrics, jobs, audit })
  const scimIn = openScimIn({ storage, clock, recorder, users, credentials, sessions, tokens, realm, http, oidc })
  const agents = openAgents({ storage, copy, clock, logger, recorder, messaging, users, tokens, baseUrl })
  const selfService = openSelfService({
    storage, clock, keyring, audit, jobs, users, credentials, sessions, tokens, authz, realm, http, signIn, oidc, agents, scimIn, scimOut, signals,
  })
  const admin = openAdmin({
    config, storage, copy, clock, secrets, platform, metrics, jobs, audit, keys, messaging, users, credentials, sessions, tokens,
    realm, authz, webhooks, http, broker, oidc, saml, selfService, directories, syncDirectory, scimOut, signals, agents, baseUrl, master,
  })
  return {
    given, storage, copy, secrets, platform, metrics, jobs, audit, keys, messaging, users, directories, scheduledSyncs, credentials, sessions, tokens,
    realm, authz, webhooks, http, broker, signIn, oidc, saml, provisioning, signals, scimIn, scimOut, agents, selfService, admin, close,
  }
}

export type Areas = Awaited<ReturnType<typeof openAreas>>

export type LowerAreas = Awaited<ReturnType<typeof openLower>>

/** Closes what is open already when an area cannot be opened. */
const allOrNone = async <Opened>(
  open: (closing: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> => {
  const closing = new AsyncDisposableStack()
  try {
    return await open(closing)
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}

export const openServer = (given: Given): Promise<Areas> =>
  allOrNone((closing) => openAreas(given, closing))

export const openLowerAreas = (given: Given): Promise<LowerAreas> =>
  allOrNone((closing) => openLower(given, closing))
