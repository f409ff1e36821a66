/** What would fail when the next user signs in through a provider; for `doctor`. */

import { isObject } from '#schemas/json-schema.ts'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import { type Finding, type Provider, UpstreamRefused } from '../../protocol.ts'
import { type Ask, objectIn } from './answers.ts'
import { discoveryUrlOf, type Upstream, type Upstreams } from './upstream.ts'
import type { Vendor } from './vendor.ts'

/** Milliseconds; ID tokens of a provider whose clock is further away are refused. */
const mostSkew = 60_000

const error = (message: string): Finding => ({ level: 'error', message })
const warning = (message: string): Finding => ({ level: 'warning', message })

export const createCheck = ({
  upstreams,
  ask,
  vendorOf,
}: {
  readonly upstreams: Upstreams
  readonly ask: Ask
  readonly vendorOf: (provider: Provider) => Vendor
}) => {
  const skewOf = async (provider: Provider, vendor: Vendor): Promise<Finding[]> => {
    const url = discoveryUrlOf(provider, vendor)
    if (url === undefined || !vendor.hasIdTokens) return []
    const { skew } = await upstreams.discover(url)
    return skew !== undefined && Math.abs(skew) > mostSkew
      ? [warning(`its clock differs from ours by ${Math.round(skew / 1000)} seconds`)]
      : []
  }

  const keysOf = async ({ config }: Provider, { jwksUrl }: Upstream): Promise<Finding[]> => {
    if (config.useJwksUrl === false) return []
    if (jwksUrl === undefined) return [error('it publishes no keys')]
    const { keys } = objectIn('its JWK set', await ask('its JWK set', { url: jwksUrl }))
    const usable = Array.isArray(keys)
      ? keys.filter((key) => isObject(key) && publicKeyFault({ ...key }) === undefined)
      : []
    return usable.length === 0 ? [error('its JWK set has no key that can be used')] : []
  }

  return async (provider: Provider): Promise<readonly Finding[]> => {
    try {
      const vendor = vendorOf(provider)
      const upstream = await upstreams.of(provider, vendor)
      const keys = vendor.hasIdTokens ? await keysOf(provider, upstream) : []
      return [...keys, ...(await skewOf(provider, vendor))]
    } catch (failure) {
      if (failure instanceof UpstreamRefused) return [error(failure.message)]
      throw failure
    }
  }
}
