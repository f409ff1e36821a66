/**
 * The addresses and the issuer of a provider: those of its config, those of its vendor, and for the rest its discovery document
 * (OIDC Discovery §4). A document is kept for ten minutes, and used for a day longer while the provider does not answer.
 */

import type { Clock } from '#server/platform/clock.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { type Ask, objectIn } from './answers.ts'
import { textOf } from './claims.ts'
import type { Claims, Vendor } from './vendor.ts'

export interface Upstream {
  readonly issuer: string
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl?: string | undefined
  readonly jwksUrl?: string | undefined
  readonly logoutUrl?: string | undefined
  /** Its answers name the issuer (RFC 9207 §3). */
  readonly namesIssuer: boolean
  readonly algorithms?: readonly string[] | undefined
  readonly authMethods?: readonly string[] | undefined
}

type Discovery = Readonly<Record<string, unknown>>

interface Kept {
  /** When it was read. */
  readonly at: number
  /** Until when it is used without a new request. */
  readonly until: number
  readonly document: Promise<Discovery>
}

const keepMs = 10 * 60_000
const staleMs = 24 * 60 * 60_000
const againMs = 10_000
const most = 1000
const wellKnown = '/.well-known/openid-configuration'

const listOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined

/** A value of the provider in a message of ours: an address, or nothing that could mislead a terminal. */
const shown = (value: string): string =>
  /^[!-~]{1,200}$/.test(value) ? value : 'none that can be shown'

/** Browsers are sent there: nothing but web addresses. */
const webUrl = (name: string, value: unknown): string | undefined => {
  const text = textOf(value)
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new UpstreamRefused('unavailable', `${name} of the provider is no web address`)
  return text
}

const discoveryUrlOf = ({ config }: Provider, { preset }: Vendor): string | undefined => {
  if (config.discoveryUrl !== undefined) return config.discoveryUrl
  if (config.issuer !== undefined) return `${config.issuer.replace(/\/$/, '')}${wellKnown}`
  return preset.discoveryUrl
}

export const createUpstreams = ({ ask, clock }: { readonly ask: Ask; readonly clock: Clock }) => {
  const kept = new Map<string, Kept>()

  const fetchDocument = async (url: string): Promise<Discovery> =>
    objectIn('the discovery document', await ask('the discovery document', { url }))

  const keep = (url: string, document: Promise<Discovery>): void => {
    const now = clock.now()
    if (kept.size >= most) kept.clear()
    kept.set(url, { at: now, until: now + keepMs, document })
  }

  const discover = (url: string): Promise<Discovery> => {
    const before = kept.get(url)
    const now = clock.now()
    if (before && now < before.until) return before.document
    const document = fetchDocument(url).catch(async (error: unknown) => {
      kept.delete(url)
      if (!before || now - before.at > staleMs) throw error
      kept.set(url, { ...before, until: now + againMs })
      return before.document
    })
    keep(url, document)
    return document
  }

  /** What it says now, which sign-ins use from now on. */
  const discoverAgain = async (url: string): Promise<Discovery> => {
    const document = await fetchDocument(url)
    keep(url, Promise.resolve(document))
    return document
  }

  /** The issuer of the document is the one that was configured, or the one that its address is made of (§4.3). */
  const checkIssuer = (provider: Provider, vendor: Vendor, url: string, issuer: string): void => {
    const { config } = provider
    const wanted =
      config.issuer ?? (config.discoveryUrl === undefined ? vendor.preset.issuer : undefined)
    const isWanted =
      wanted === undefined ? url === `${issuer.replace(/\/$/, '')}${wellKnown}` : issuer === wanted
    const isTemplate = vendor.issuerClaim && issuer.includes(vendor.issuerClaim.template)
    if (!isWanted && !(isTemplate && config.issuer === undefined))
      throw new UpstreamRefused(
        'invalid-answer',
        `the discovery document names another issuer: ${shown(issuer)}`,
      )
  }

  const upstreamOf = async (
    provider: Provider,
    vendor: Vendor,
    read: (url: string) => Promise<Discovery>,
  ): Promise<Upstream> => {
    const { config } = provider
    const { preset } = vendor
    const given = { ...preset, ...config }
    const isWhole =
      given.issuer !== undefined &&
      given.authorizationUrl !== undefined &&
      given.tokenUrl !== undefined &&
      (!vendor.hasIdTokens || config.jwksUrl !== undefined)
    const url =
      isWhole && config.discoveryUrl === undefined ? undefined : discoveryUrlOf(provider, vendor)
    const document: Claims = url === undefined ? {} : await read(url)
    const issuer = textOf(document['issuer']) ?? given.issuer
    if (url !== undefined) checkIssuer(provider, vendor, url, textOf(document['issuer']) ?? '')
    const authorizationUrl =
      given.authorizationUrl ?? webUrl('authorization_endpoint', document['authorization_endpoint'])
    const tokenUrl = given.tokenUrl ?? webUrl('token_endpoint', document['token_endpoint'])
    if (issuer === undefined || authorizationUrl === undefined || tokenUrl === undefined)
      throw new UpstreamRefused('unavailable', 'the discovery document lacks an endpoint')
    return {
      issuer,
      authorizationUrl,
      tokenUrl,
      userInfoUrl: given.userInfoUrl ?? webUrl('userinfo_endpoint', document['userinfo_endpoint']),
      jwksUrl: config.jwksUrl ?? webUrl('jwks_uri', document['jwks_uri']),
      logoutUrl:
        config.logoutUrl ?? webUrl('end_session_endpoint', document['end_session_endpoint']),
      namesIssuer: document['authorization_response_iss_parameter_supported'] === true,
      algorithms: listOf(document['id_token_signing_alg_values_supported']),
      authMethods: listOf(document['token_endpoint_auth_methods_supported']),
    }
  }

  return {
    of: (provider: Provider, vendor: Vendor) => upstreamOf(provider, vendor, discover),
    /** Without what was read before; for `doctor`. */
    afresh: (provider: Provider, vendor: Vendor) => upstreamOf(provider, vendor, discoverAgain),
  }
}

export type Upstreams = ReturnType<typeof createUpstreams>
