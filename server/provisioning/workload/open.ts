/** Opens workload identity federation: its one endpoint, with the keys of issuers and the limits that it needs. */

import type { Recorder } from '#server/audit/audit.ts'
import { createRefusals } from '#server/audit/floods/refusals.ts'
import type { HttpArea } from '#server/http/open.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { findCredential } from './credentials.ts'
import { workloadEndpoint } from './endpoint.ts'
import { createExchange } from './exchange.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import { createJudge } from './judge.ts'
import { createRefusalTime } from './refusal-time.ts'

export interface WorkloadNeeds {
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued' | 'workloadToken'>
  readonly tokens: Pick<TokensArea, 'issuers' | 'mint' | 'agents'>
  readonly http: Pick<HttpArea, 'mapError' | 'slowRefusal'>
}

/** Refused requests of an address. */
const addressLimit = { limit: 10, seconds: 1, burst: 20 }
/** Accepted JWTs of an issuer: a workload that runs wild is held up, a large platform is not. */
const issuerLimit = { limit: 1000, seconds: 1, burst: 3000 }

export const openWorkload = (needs: WorkloadNeeds) => {
  const { clock, logger, outgoing, recorder, metrics } = needs
  const { issuers, mint, agents } = needs.tokens
  const judge = createJudge({
    clock,
    find: findCredential,
    keysOf: createIssuerKeys({ outgoing, clock }),
    agents,
  })
  const refusals = createRefusals({ recorder, clock, logger })
  const exchange = createExchange({
    judge,
    mint,
    agents,
    recorder,
    refusals,
    metrics,
    perIssuer: createMemoryLimiter(clock, issuerLimit),
  })
  return workloadEndpoint({
    issuers,
    exchange,
    refusals,
    perAddress: createMemoryLimiter(clock, addressLimit),
    mapError: needs.http.mapError,
    slowRefusal: needs.http.slowRefusal,
    refusalTime: createRefusalTime(),
  })
}
