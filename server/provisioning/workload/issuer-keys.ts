/**
 * The keys of a workload's issuer: those of the credential's `jwksUri`, else those that the discovery document of the issuer
 * names (OIDC Discovery §4). Over https, through the guarded client, and within bounds.
 */

import { errors } from 'jose'
import type { WorkloadIdentityDoc } from '#schemas/kinds/provisioning/workload-identity.ts'
import { createRemoteKeys } from '#server/keys/remote/remote-keys.ts'
import type { VerifyJwt } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'

export type IssuerKeys = (credential: Pick<WorkloadIdentityDoc, 'issuer' | 'jwksUri'>) => VerifyJwt

const timeoutMs = 5000
const longestDocument = 256 * 1024
const minute = 60_000
const bounds = {
  keepMs: 10 * minute,
  longestKeepMs: 24 * 60 * minute,
  staleMs: 24 * 60 * minute,
  timeoutMs,
  mostKeys: 100,
  schemes: ['https'],
} as const

const wellKnown = '/.well-known/openid-configuration'

const invalid = (message: string): Error => new errors.JWKSInvalid(message)

const objectIn = (body: Uint8Array): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The same as a document that is no object.
  }
  throw invalid('the discovery document is not a JSON object')
}

export const createIssuerKeys = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
}): IssuerKeys => {
  const discover = async (issuer: string): Promise<string> => {
    const { status, body } = await outgoing.request({
      url: `${issuer.replace(/\/$/, '')}${wellKnown}`,
      headers: { accept: 'application/json' },
      schemes: bounds.schemes,
      timeoutMs,
      maxBytes: longestDocument,
    })
    if (status !== 200) throw invalid(`the discovery document is answered with ${status}`)
    const document = objectIn(body)
    // A document of another issuer would vouch for keys that are not of this one (§4.3).
    if (document['issuer'] !== issuer) throw invalid('the discovery document names another issuer')
    const { jwks_uri: address } = document
    if (typeof address !== 'string') throw invalid('the discovery document has no jwks_uri')
    return address
  }

  const byAddress = createRemoteKeys({ outgoing, clock, bounds })
  const byIssuer = createRemoteKeys({ outgoing, clock, bounds, locate: discover })
  return ({ issuer, jwksUri }) => (jwksUri === undefined ? byIssuer(issuer) : byAddress(jwksUri))
}
