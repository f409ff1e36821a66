/**
 * Everything the server is made of below its routes, put together once: storage, keys, accounts, sessions and the
 * write path. `app.ts` adds the routes; maintenance commands use the parts alone.
 */

import { createHealth } from '#server/admin/health.ts'
import { openAudit } from '#server/audit/open.ts'
import type { Config } from '#server/config/index.ts'
import { openCredentials } from '#server/credentials/open.ts'
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
import { openRealm } from '#server/realm/open.ts'
import { masterRealm } from '#server/realm/realms.ts'
import { openSelfService } from '#server/self-service/open.ts'
import { openSessions } from '#server/sessions/sessions.ts'
import { openSignIn } from '#server/sign-in/open.ts'
import { copyLimits, createCopy } from '#server/storage/documents/copy.ts'
import { openStorage } from '#server/storage/open.ts'
import { openTokens } from '#server/tokens/open.ts'
import { openUsers } from '#server/users/open.ts'
import { openWebhooks } from '#server/webhooks/open.ts'
import { mapError } from './errors.ts'

export const createParts = async (
  config: Config,
  logger: Logger,
  clock: Clock,
  lookup?: Lookup,
) => {
  const given = keyAtHand(config)
  const closing = new AsyncDisposableStack()
  try {
    const { baseUrl } = config.http
    const master = masterRealm
    const storage = await openStorage({ url: config.database.url, logger })
    closing.defer(() => storage.close())
    const secrets = await openSecrets({ config, storage, given })
    const { keyring, vault } = secrets
    const platform = await openPlatform({ config, lookup })
    closing.defer(platform.close)
    const { outgoing } = platform
    const copy = createCopy(storage, copyLimits)
    closing.defer(() => copy.close())
    const metrics = openMetrics({ storage, copy, clock, platform })
    const jobs = openJobs({ storage, clock, logger, metrics })
    const audit = await openAudit({
      storage,
      clock,
      logger,
      jobs,
      outgoing,
      keyring,
      chainKey: secrets.keyFor('audit-chain'),
      master,
    })
    closing.defer(audit.close)
    const { recorder } = audit
    const keys = openKeys({ storage, copy, clock, logger, keyring, recorder })
    closing.defer(keys.close)
    const messaging = openMessaging({
      outgoing,
      clock,
      logger,
      reveal: vault.reveal,
      logMessages: config.runtime.logMessages,
    })
    closing.defer(() => messaging.close())
    const users = openUsers({
      storage,
      copy,
      clock,
      secrets,
      metrics,
      jobs,
      recorder,
      messaging,
      baseUrl,
    })
    const credentials = openCredentials({
      config,
      storage,
      clock,
      logger,
      secrets,
      platform,
      recorder,
      users,
    })
    const sessions = openSessions({ storage, clock })
    const tokens = openTokens({ storage, copy, clock, secrets, keys, baseUrl, master })
    const realm = openRealm({
      config,
      storage,
      copy,
      clock,
      secrets,
      recorder,
      users,
      credentials,
    })
    const webhooks = openWebhooks({
      storage,
      copy,
      clock,
      logger,
      outgoing,
      vault,
      jobs,
      audit,
      realm,
    })
    const http = openHttp({ baseUrl, csrfKey: secrets.keyFor('csrf'), mapError })
    const signIn = openSignIn({
      storage,
      copy,
      clock,
      keyring,
      recorder,
      metrics,
      messaging,
      users,
      credentials,
      sessions,
      settingsOf: realm.settingsOf,
      http,
      baseUrl,
      master,
    })
    const oidc = openOidc({
      storage,
      clock,
      secrets,
      outgoing,
      recorder,
      metrics,
      jobs,
      messaging,
      keys,
      users,
      credentials,
      sessions,
      tokens,
      http,
      signIn,
    })
    const selfService = openSelfService({
      storage,
      clock,
      keyring,
      audit,
      jobs,
      users,
      credentials,
      sessions,
      tokens,
      realm,
      http,
      browser: signIn.browser,
      oidc,
    })

    return {
      ...platform,
      ...audit,
      ...keys,
      ...users,
      ...credentials,
      ...tokens,
      ...realm,
      users: users.store,
      eventStreams: audit.streams,
      keyPolicies: keys.policies,
      config,
      logger,
      clock,
      ...http,
      signIn,
      keyring,
      storage,
      copy,
      sessions,
      signIns: signIn.signIns,
      vault,
      metrics,
      jobs,
      webhooks,
      sendDelivery: webhooks.send,
      health: createHealth({
        storage,
        config,
        clock,
        siblings: platform.siblings,
        forwarder: audit.forwarder,
      }),
      csrfKey: secrets.keyFor('csrf'),
      dpopKey: secrets.keyFor('dpop-nonces'),
      messaging,
      oidc,
      selfService,
      logouts: oidc.logouts,
      exportData: selfService.exportData,
      close: () => closing.disposeAsync(),
    }
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}

export type Parts = Awaited<ReturnType<typeof createParts>>
