/**
 * Everything the server is made of below its routes, put together once: storage, keys, accounts, sessions and the
 * write path. `app.ts` adds the routes; maintenance commands use the parts alone.
 */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { createHealth } from '#server/admin/health.ts'
import { createRecorder } from '#server/audit/audit.ts'
import { createSealEvents } from '#server/audit/chain.ts'
import { createCheckChain } from '#server/audit/chain-check.ts'
import { createEmission, emitting } from '#server/audit/emission.ts'
import { createForwarder } from '#server/audit/forwarder.ts'
import { createOutbox } from '#server/audit/outbox.ts'
import { createPersonalKeys } from '#server/audit/personal-keys.ts'
import { createReadRecords } from '#server/audit/records.ts'
import { createForgetEvents } from '#server/audit/retention.ts'
import { createEventStreams } from '#server/audit/stream.ts'
import { createTotals } from '#server/audit/totals.ts'
import { type Config, ConfigError } from '#server/config/index.ts'
import { createApprovals } from '#server/credentials/approvals.ts'
import { createAuthenticator } from '#server/credentials/authenticate.ts'
import { createDevices } from '#server/credentials/devices.ts'
import { createFactors } from '#server/credentials/factors.ts'
import { createBruteForce } from '#server/credentials/guessing/brute-force.ts'
import { createDecoys } from '#server/credentials/guessing/decoys.ts'
import { createLockNotice } from '#server/credentials/guessing/lock-notice.ts'
import { createPasskeys } from '#server/credentials/passkeys.ts'
import { createPasswords } from '#server/credentials/passwords.ts'
import { createTransactions } from '#server/credentials/transactions.ts'
import { createCookies } from '#server/http/cookies/cookies.ts'
import { createJobs, jobFigures } from '#server/jobs/queue.ts'
import { firstKey, keyAtHand } from '#server/keys/installation-key.ts'
import { createKeyPolicies } from '#server/keys/policy.ts'
import { createRealmKeys } from '#server/keys/realm-keys.ts'
import { loadRootSecret } from '#server/keys/root-secret.ts'
import { createSigningKeys } from '#server/keys/rotation.ts'
import { createSigner } from '#server/keys/signer.ts'
import { createMessaging } from '#server/messaging/sender.ts'
import { createMetrics, shareFigures } from '#server/metrics/metrics.ts'
import { createConsents } from '#server/oidc/consent/consents.ts'
import { logoutDeliveries } from '#server/oidc/logout/logout-deliveries.ts'
import type { Clock } from '#server/platform/clock.ts'
import { type Logger, plainLines } from '#server/platform/logger.ts'
import { createOutgoing } from '#server/platform/outgoing/client.ts'
import { type Lookup, lookupBySystem } from '#server/platform/outgoing/lookup.ts'
import {
  type BreachCheck,
  defaultFilterFile,
  kAnonymityEndpoint,
  openFilter,
  openKAnonymityFile,
} from '#server/platform/passwords/breach.ts'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { createHasher } from '#server/platform/passwords/hasher.ts'
import { deriveKey } from '#server/platform/sealing.ts'
import { createSiblings } from '#server/platform/threads/siblings.ts'
import { createBehaviours } from '#server/realm/behaviours/index.ts'
import { createChangesets } from '#server/realm/changesets/changesets.ts'
import { createPresenter } from '#server/realm/crud/present.ts'
import { createRealms, masterRealm } from '#server/realm/realms.ts'
import { createLastAdmin } from '#server/realm/rules/last-admin.ts'
import { createVault } from '#server/realm/rules/secrets.ts'
import { createWriter } from '#server/realm/write/write.ts'
import { createSessions } from '#server/sessions/sessions.ts'
import { createSignIns } from '#server/sign-in/flow/sign-ins.ts'
import { createCopy } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { openStorage } from '#server/storage/open.ts'
import { createGrantsStore } from '#server/tokens/grants-store.ts'
import { createMint } from '#server/tokens/mint.ts'
import { createIssuers } from '#server/tokens/realm.ts'
import { createSubjects } from '#server/tokens/subject.ts'
import { createVerifier } from '#server/tokens/verify.ts'
import { createAddressNotice } from '#server/users/address-notice.ts'
import { createAddressUndos } from '#server/users/address-undos.ts'
import { createDataExport } from '#server/users/data-export.ts'
import { createErasedPeople } from '#server/users/erased-people.ts'
import { createInvitations } from '#server/users/invitations.ts'
import { createMessageLimits } from '#server/users/message-limits.ts'
import { createRanks } from '#server/users/permissions.ts'
import { createPost } from '#server/users/post.ts'
import { createUsers } from '#server/users/users.ts'
import { createSender } from '#server/webhooks/sender.ts'

const copyLimits = { totalBytes: 64 * 1024 * 1024, kindBytes: 24 * 1024 * 1024 }

const openCorpus = (file: string): BreachCheck => {
  try {
    return openKAnonymityFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`--breach-file (IAMCTL_BREACH_FILE): ${reason}`)
  }
}

const openBreachCheck = (
  { file, url }: Config['passwords'],
  outgoing: ReturnType<typeof createOutgoing>,
  logger: Logger,
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

export const createParts = async (
  config: Config,
  logger: Logger,
  clock: Clock,
  lookup: Lookup = lookupBySystem,
) => {
  const atHand = keyAtHand(config)
  const storage = await openStorage({ url: config.database.url, logger })
  try {
    const keyring = atHand ?? (await firstKey(config, storage))
    const root = await loadRootSecret(storage, keyring)
    const outgoing = createOutgoing({
      allowPrivate: config.outgoing.allow,
      allowHttp: config.outgoing.allowHttp,
      lookup,
    })
    const hasher = createHasher(await loadEngine())
    const personalKeys = createPersonalKeys({ storage, keyring })
    const emission = await createEmission({ storage, keyring })
    const outbox = createOutbox(storage)
    const sinks = [emitting(emission, plainLines(logger, 'audit')), outbox.notice]
    const recorder = createRecorder({ storage, clock, personalKeys, sinks })
    const totals = createTotals(storage, clock)
    const copy = createCopy(storage, copyLimits)
    const users = createUsers(storage)
    const breach = openBreachCheck(config.passwords, outgoing, logger)
    const decoys = createDecoys({ storage, clock, key: deriveKey(root, 'decoys') })
    const passwords = createPasswords({ hasher, breach, decoys, storage, clock })
    const ranks = createRanks(storage)
    const erasedPeople = createErasedPeople({ storage, key: deriveKey(root, 'erased-people') })
    const sessions = createSessions({ storage, clock })
    const bruteForce = createBruteForce({ storage, clock })
    const factors = createFactors(storage)
    const codeKey = deriveKey(root, 'sign-in-codes')
    const vault = createVault(keyring, deriveKey(root, 'client-secrets'))
    const grantsStore = createGrantsStore({
      storage,
      clock,
      handleKey: deriveKey(root, 'grant-handles'),
    })
    const signer = createSigner()
    const realmKeys = createRealmKeys({ storage, keyring, signer, clock })
    const signingKeys = createSigningKeys({ storage, recorder, keyring, clock, copy, logger })
    const subjects = createSubjects({
      reveal: vault.reveal,
      key: deriveKey(root, 'pairwise-subjects'),
    })

    const issuers = createIssuers({ copy, baseUrl: config.http.baseUrl, master: masterRealm })
    const mint = createMint({ storage, clock, keys: realmKeys, subjects })
    const logouts = logoutDeliveries({ storage, clock, outgoing, issuers, mint, subjects })

    const messaging = createMessaging({
      outgoing,
      clock,
      logger,
      reveal: vault.reveal,
      logMessages: config.runtime.logMessages,
    })

    const siblings = createSiblings()
    const metrics = createMetrics({
      isRealm: async (name) => (await copy.known(name)) !== undefined,
      queues: { 'password-hashing': hasher.waiting },
      jobs: jobFigures(storage),
      clock,
    })
    shareFigures(siblings, metrics)
    const jobs = createJobs({ storage, clock, logger, metrics })
    const messageLimits = createMessageLimits({ storage, clock })
    const post = createPost({
      limits: messageLimits,
      onSuppressed: metrics.messageSuppressed,
      jobs,
      messaging,
      copy,
      recorder,
      clock,
      key: deriveKey(root, 'messages'),
    })
    const addressUndos = createAddressUndos({ storage, clock })
    const addressNotice = createAddressNotice({
      post,
      undos: addressUndos,
      messaging,
      clock,
      baseUrl: config.http.baseUrl,
    })

    const behaviours = createBehaviours({
      users,
      passwords,
      ranks,
      copy,
      addressNotice,
      erasedPeople,
    })
    const lastAdmin = createLastAdmin({ storage, master: masterRealm })
    const writer = createWriter({ storage, recorder, copy, clock, vault, behaviours, lastAdmin })
    const realms = createRealms({ storage, writer, recorder, users, passwords, keyring, clock })

    const chainKey = deriveKey(root, 'audit-chain')
    const readRecords = createReadRecords(personalKeys)
    const forwarder = createForwarder({
      storage,
      outbox,
      emission,
      jobs,
      outgoing,
      readRecords,
      clock,
      logger,
    })

    const settingsOf = async (realm: string): Promise<SettingsDoc | null> => {
      const view = await copy.fresh(realm)
      const document = await view?.get(Settings.kind, Settings.kind)
      return document ? contentOf<SettingsDoc>(document) : null
    }

    return {
      config,
      logger,
      clock,
      cookies: createCookies(config.http.baseUrl),
      keyring,
      storage,
      recorder,
      copy,
      users,
      passwords,
      ranks,
      lastAdmin,
      addressNotice,
      addressUndos,
      sessions,
      bruteForce,
      factors,
      passkeys: createPasskeys({
        storage,
        clock,
        factors,
        key: codeKey,
        baseUrl: config.http.baseUrl,
      }),
      devices: createDevices({ storage, clock, keyring, factors }),
      approvals: createApprovals({ storage, clock }),
      invitations: createInvitations({ storage, clock }),
      transactions: createTransactions({ storage, clock }),
      signIns: createSignIns({ storage, clock }),
      vault,
      emission,
      personalKeys,
      readRecords,
      forwarder,
      eventStreams: createEventStreams({
        outbox,
        readRecords,
        shared: storage.dialect.sharedByProcesses,
      }),
      erasedPeople,
      sealEvents: createSealEvents({ storage, outbox, clock, logger, chainKey }),
      checkChain: createCheckChain({ storage, outbox, chainKey }),
      forgetEvents: createForgetEvents({ storage, totals, master: masterRealm }),
      totals,
      writer,
      settingsOf,
      siblings,
      metrics,
      jobs,
      outbox,
      sendDelivery: createSender({ storage, clock, outgoing, reveal: vault.reveal }),
      health: createHealth({ storage, config, clock, siblings, forwarder }),
      csrfKey: deriveKey(root, 'csrf'),
      dpopKey: deriveKey(root, 'dpop-nonces'),
      codeKey,
      authenticator: createAuthenticator({
        storage,
        recorder,
        users,
        passwords,
        bruteForce,
        lockNotice: createLockNotice({ post, clock }),
      }),
      outgoing,
      messaging,
      messageLimits,
      post,
      realmKeys,
      issuers,
      mint,
      subjects,
      logouts,
      verifier: createVerifier({ storage, clock, keys: realmKeys }),
      grantsStore,
      exportData: createDataExport({
        storage,
        clock,
        readRecords,
        consentsOf: createConsents({ storage, clock, grantsStore }).list,
      }),
      signingKeys,
      keyPolicies: createKeyPolicies({ storage, clock, signingKeys }),
      presenter: createPresenter(behaviours, storage.db),
      realms,
      changesets: createChangesets({ storage, writer, realms, clock, limits: config.limits }),
      close: async () => {
        siblings.close()
        await signingKeys.idle()
        copy.close()
        emission.close()
        await hasher.close()
        await signer.close()
        messaging.close()
        await outgoing.close()
        await storage.close()
      },
    }
  } catch (error) {
    await storage.close()
    throw error
  }
}

export type Parts = Awaited<ReturnType<typeof createParts>>
