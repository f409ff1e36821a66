/** The answer as a JWT that the realm signs (JARM §2.1, §2.3), sent in one of the other modes. */

import type { Clock } from '#server/platform/clock.ts'
import type { Mint } from '#server/tokens/mint.ts'
import type { ResponseMode } from './mode.ts'

/** JARM §2.1 recommends ten minutes at most. */
const lifetimeSeconds = 600

export interface JarmParts {
  readonly mint: Pick<Mint, 'sign'>
  readonly clock: Clock
}

export const jarm = ({ mint, clock }: JarmParts, name: string, by: ResponseMode): ResponseMode => ({
  name,
  send: async (answer, request, reply) => {
    const { issuer, client, parameters } = answer
    const iat = Math.floor(clock.now() / 1000)
    const claims = {
      ...parameters,
      iss: issuer.url,
      aud: client.clientId,
      iat,
      exp: iat + lifetimeSeconds,
    }
    // Not as its id tokens: RS256 where nothing else is registered (JARM §3).
    const { authorizationSignedResponseAlg: algorithm = 'RS256' } = client.doc
    const response = await mint.sign(issuer, client, 'JWT', claims, algorithm)
    return by.send({ ...answer, parameters: { response } }, request, reply)
  },
})
