/** Finds what would fail at the next sign-in through a provider, for `iamctl doctor`. No cache is used. */

import { isObject } from '#schemas/json-schema.ts'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import { error, type Finding, ok } from '#schemas/wire/findings.ts'
import { randomToken } from '#server/platform/random.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { type ReachParts, reachFindings } from '../reach.ts'
import { type Ask, objectIn } from './answers.ts'
import type { Exchange } from './exchange.ts'
import type { Upstream, Upstreams } from './upstream.ts'
import type { Vendor } from './vendor.ts'

/** ID tokens commonly live for five minutes, and a minute is tolerated: a clock that is further behind ends them at once. */
const tolerance = { warnMs: 60_000, failMs: 360_000 }

export const createCheck = ({
  upstreams,
  ask,
  exchange,
  vendorOf,
  ...reach
}: ReachParts & {
  readonly upstreams: Pick<Upstreams, 'afresh'>
  readonly ask: Ask
  readonly exchange: Exchange
  readonly vendorOf: (provider: Provider) => Vendor
}) => {
  const keysOf = async ({ config }: Provider, { jwksUrl }: Upstream): Promise<Finding[]> => {
    if (config.useJwksUrl === false) return []
    const remedy = 'ask the operator of the provider, or set jwksUrl'
    if (jwksUrl === undefined) return [error('provider-keys', 'the provider has no keys', remedy)]
    const { keys } = objectIn('its JWK set', await ask('its JWK set', { url: jwksUrl }))
    const usable = Array.isArray(keys)
      ? keys.filter((key) => isObject(key) && publicKeyFault({ ...key }) === undefined)
      : []
    return usable.length === 0
      ? [error('provider-keys', 'the JWK set of the provider has no key that can be used', remedy)]
      : []
  }

  /**
   * Presents a code that does not exist. A provider authenticates the client first (RFC 6749 §4.1.3), so that the refusal tells
   * a wrong client, such as one whose secret has expired, from a wrong code.
   */
  const clientOf = async (
    provider: Provider,
    vendor: Vendor,
    upstream: Upstream,
    endpoint: string,
  ): Promise<Finding[]> => {
    const grant = { grant_type: 'authorization_code', code: 'none', redirect_uri: endpoint }
    const verifier = { code_verifier: randomToken() }
    try {
      await exchange(provider, vendor, upstream, {
        ...grant,
        ...((provider.config.pkceEnabled ?? vendor.pkce) ? verifier : {}),
      })
      return []
    } catch (failure) {
      if (!(failure instanceof UpstreamRefused)) throw failure
      const isClient = /(?:invalid_client|incorrect_client_credentials)$/.test(failure.message)
      return isClient
        ? [
            error(
              'provider-client',
              'the provider refuses clientId or clientSecret',
              'set the current client secret of the provider; it may have expired',
            ),
          ]
        : []
    }
  }

  /** Documents that cannot be read, one finding for the first. */
  const documentsOf = async (work: () => Promise<Finding[]>, check: string): Promise<Finding[]> => {
    try {
      return await work()
    } catch (failure) {
      if (!(failure instanceof UpstreamRefused)) throw failure
      const isOther = failure.reason === 'invalid-answer'
      return [
        isOther
          ? error('provider-issuer', failure.message, 'correct issuer or discoveryUrl')
          : error(
              check,
              failure.message,
              'correct the address, or ask the operator of the provider; IAMCTL_OUTGOING_ALLOW of the server lists private addresses',
            ),
      ]
    }
  }

  return async (provider: Provider, endpoint: string): Promise<readonly Finding[]> => {
    const vendor = vendorOf(provider)
    const found = await documentsOf(async () => {
      const upstream = await upstreams.afresh(provider, vendor)
      const { tokenUrl: url } = upstream
      const place = { name: 'the token endpoint', url, isNeeded: true }
      const [keys, client, reached] = await Promise.all([
        vendor.hasIdTokens
          ? documentsOf(() => keysOf(provider, upstream), 'provider-keys')
          : Promise.resolve([]),
        clientOf(provider, vendor, upstream, endpoint),
        reachFindings(reach, place, tolerance),
      ])
      return [...keys, ...client, ...reached]
    }, 'provider-discovery')
    return found.length > 0
      ? found
      : [ok('provider', 'discovery, keys and token endpoint are good')]
  }
}
