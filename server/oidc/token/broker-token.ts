/**
 * `GET /realms/{realm}/broker/{alias}/token`: the access token that an identity provider gave the user, where the provider has
 * `storeToken`. The user's own access token asks for it, with the scope `read-token`. One that has expired is refreshed
 * first. The refresh token never leaves: a client would keep it beyond the sign-in. Every read is an audit event.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import { type Provider, UpstreamRefused } from '#server/broker/protocol.ts'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import { storedTokenScope as scope } from '#server/tokens/access/scopes.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { Links, StoredTokens } from '#server/users/links/links.ts'
import { openOrganizationNamed } from '#server/users/organizations/organizations.ts'
import { ownTokenOf } from '../account-caller.ts'
import type { Preflights } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidGrant, oauthError } from '../errors.ts'
import { freshIssuer } from '../issuer.ts'
import type { UserTokenParts } from './user-token.ts'

export interface BrokerTokenParts extends UserTokenParts {
  readonly issuers: Issuers
  readonly storage: Pick<Storage, 'commit'>
  readonly clock: Clock
  readonly recorder: Recorder
  readonly broker: Pick<BrokerArea, 'providers' | 'refresh'>
  readonly links: Pick<Links, 'ofUser' | 'tokensOf' | 'keepTokens'>
  readonly preflights: Preflights
}

interface Route {
  Params: { realm: string; alias: string }
}

const path = '/broker/:alias/token'
const event = 'IDENTITY_PROVIDER_RETRIEVE_TOKEN'
/** A token that expires sooner is of no use to a client. */
const leastMs = 30_000

const noToken = oauthError('invalid_request', 404)
const away = oauthError('temporarily_unavailable', 503)

const answerSchema = {
  description: 'The access token at the identity provider.',
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string', enum: ['Bearer'] },
    expires_in: { type: 'integer', description: 'Seconds; missing where the provider says none.' },
  },
  required: ['access_token', 'token_type'],
  additionalProperties: false,
} as const

export const brokerToken = (parts: BrokerTokenParts): Endpoint => {
  const { issuers, storage, clock, recorder, broker, links, preflights } = parts

  const isFresh = ({ accessToken, expiresAt }: StoredTokens): boolean =>
    accessToken !== undefined && (expiresAt === undefined || expiresAt - clock.now() >= leastMs)

  const linkOf = async (userId: string, provider: Provider) =>
    (await links.ofUser(userId)).find((link) => link.provider === provider.id)

  const tokensOf = (link: FederatedLinkRow | undefined, { alias }: Provider): StoredTokens => {
    const tokens = link && links.tokensOf(link)
    if (!tokens) throw noToken(`the user has no token of ${alias}: sign in through it once`)
    return tokens
  }

  /** Another node may have used up a refresh token that rotates: what it has kept counts then. */
  const refresh = async (
    provider: Provider,
    link: FederatedLinkRow,
    before: StoredTokens,
  ): Promise<StoredTokens> => {
    try {
      const tokens = { ...before, ...(await broker.refresh(provider, before)) }
      await storage.commit([links.keepTokens(link, tokens)])
      return tokens
    } catch (error) {
      const isRefused = error instanceof UpstreamRefused
      if (!isRefused && !(error instanceof GuardFailedError)) throw error
      const kept = tokensOf(await linkOf(link.user_id, provider), provider)
      if (isFresh(kept)) return kept
      const detail = error.message
      if (isRefused && error.reason === 'unavailable')
        throw away(`${provider.alias} does not answer: try again later`, { detail })
      throw invalidGrant(`the token of ${provider.alias} has expired: sign in through it again`, {
        detail,
      })
    }
  }

  const underWay = new Map<string, Promise<StoredTokens>>()

  /** Requests at the same moment share one refresh. */
  const refreshed = (provider: Provider, link: FederatedLinkRow, before: StoredTokens) => {
    const known = underWay.get(link.id)
    if (known !== undefined) return known
    const begun = refresh(provider, link, before).finally(() => underWay.delete(link.id))
    underWay.set(link.id, begun)
    return begun
  }

  const usableTokens = async (provider: Provider, userId: string): Promise<StoredTokens> => {
    const link = await linkOf(userId, provider)
    const stored = tokensOf(link, provider)
    return isFresh(stored) || !link ? stored : refreshed(provider, link, stored)
  }

  /** The token opens the user's account at the provider: the trail says which client took it, also where there was none. */
  const recorded = async (
    about: Omit<AuditEvent, 'outcome'>,
    retrieve: Promise<StoredTokens>,
  ): Promise<StoredTokens> => {
    const tokens = await retrieve.catch(async (error: unknown) => {
      await recorder.append([], [{ ...about, outcome: 'FAILURE' }])
      throw error
    })
    await recorder.append([], [{ ...about, outcome: 'SUCCESS' }])
    return tokens
  }

  /** Enabled, keeps tokens, and of an organization that is enabled if of one. */
  const providerOf = async (view: RealmView, alias: string): Promise<Provider> => {
    const provider = await broker.providers.find(view, alias, { kind: 'link' })
    const { storeToken, organization } = provider?.doc ?? {}
    const isOpen = organization === undefined || (await openOrganizationNamed(view, organization))
    if (!provider || !storeToken || !isOpen)
      throw noToken('there is no such identity provider, or it keeps no tokens (storeToken)')
    return provider
  }

  const handle = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, request)
    const resource = { audience: issuer.url, scope }
    const { user, client } = await ownTokenOf(parts, issuer, request, reply, resource)
    const { alias } = request.params
    const provider = await providerOf(issuer.view, alias)
    const { accessToken, expiresAt } = await recorded(
      {
        type: event,
        realm: issuer.name,
        actor: user.id,
        sourceIp: request.ip,
        resourceType: IdentityProvider.resourceType,
        resourceId: alias,
        detail: `client ${client.clientId}`,
      },
      usableTokens(provider, user.id),
    )
    return reply.header('cache-control', 'no-store').send({
      access_token: accessToken,
      token_type: 'Bearer',
      ...(expiresAt === undefined
        ? {}
        : { expires_in: Math.floor((expiresAt - clock.now()) / 1000) }),
    })
  }

  return {
    path,
    routes: (app) => {
      const replies = { 200: answerSchema, ...refusals(400, 401, 403) }
      const summary = 'The access token of the user at an identity provider that keeps tokens'
      app.get<Route>(
        urlOf(path),
        describe({ operationId: 'read-broker-token', summary, replies, events: [event] }),
        handle,
      )
      preflights(app, urlOf(path), 'GET')
    },
  }
}
