/**
 * Delegation to an agent (RFC 8693 §1.1): the agent gets a token that is about the user and names the agent as actor. Its
 * scope is what the request, the subject token, the agent and the consent of the user have in common; high-risk scopes are
 * confirmed by the user besides. It ends with the subject
 * token and the actor token, with the session of the user, with the consent and with the agent, and it has no refresh token.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { rememberedScopes } from '#server/tokens/access/high-risk.ts'
import { allowedScopes, openidScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { Agents, BoundAgent } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { endingsOf } from '#server/tokens/token-ids.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { Confirm } from '../../../delegation/confirm.ts'
import type { Delegations, DelegationTerms } from '../../../delegation/delegations.ts'
import {
  invalidRequest,
  invalidScope,
  type OAuthError,
  unauthorizedClient,
} from '../../../errors.ts'
import { type Actor, actingChain, impersonatorIn, mayAct } from '../../acting.ts'
import type { Grant, GrantContext } from '../grant.ts'
import {
  allowedAudiences,
  authenticationOf,
  checkRequested,
  exchangeParameters,
  firstEnd,
} from './exchange-request.ts'
import {
  accessTokenType,
  badToken,
  createReadExchangedToken,
  type ExchangedToken,
  idTokenType,
} from './exchanged-token.ts'

export interface DelegationParts {
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly clock: Clock
  readonly agents: Pick<Agents, 'of'>
  readonly delegations: Pick<Delegations, 'terms' | 'use'>
  readonly confirm: Confirm
}

/** Seconds: an agent asks again, and is judged again. */
const longest = 300

const notAllowed = (): OAuthError =>
  invalidRequest('the user does not allow this agent to act; ask for consent at /authorize')

/** The user of the token, and what is known of it. */
type Subject = ExchangedToken & { readonly user: UserRow }

/** Read once for a request. */
type TermsOf = (user: UserRow) => Promise<DelegationTerms>

const isOfUser = (token: ExchangedToken): token is Subject => token.user !== undefined

export const delegation = (parts: DelegationParts): Grant => {
  const { grantsStore, clock, agents, delegations, confirm } = parts
  const read = createReadExchangedToken(parts)

  const agentOf = async ({ issuer, client }: GrantContext): Promise<BoundAgent> => {
    if (client.doc.publicClient) throw unauthorizedClient('a public client may not exchange')
    const agent = await agents.of(issuer.view, client.clientId)
    if (!agent) throw unauthorizedClient('no agent authenticates as this client')
    if (!agent.doc.allowedDelegation)
      throw unauthorizedClient('the agent may not act for users (allowedDelegation)')
    return agent
  }

  /** One that was issued to the agent or is for it, that names it in `may_act`, or of a user who consented to the agent. */
  const subjectOf = async (
    context: GrantContext,
    actor: Actor,
    termsOf: TermsOf,
  ): Promise<Subject> => {
    const { issuer, form } = context
    if (form.get('subject_token_type') === idTokenType)
      throw invalidRequest('the subject of a delegation is an access token, no id token')
    const token = await read(context, 'subject_token', async ({ claims, user }) => {
      if (mayAct(issuer, claims['may_act'], actor)) return true
      return user !== undefined && (await termsOf(user)).consent !== undefined
    })
    if (!isOfUser(token)) throw badToken('subject_token', 'it is not the token of a user')
    return token
  }

  /** The agent's own token, where it shows one. */
  const shownActor = async (
    context: GrantContext,
    subject: Subject,
  ): Promise<ExchangedToken | undefined> => {
    const { client, form } = context
    if (form.get('actor_token') === undefined) return undefined
    if (form.get('actor_token') === form.get('subject_token'))
      throw badToken('actor_token', 'it is the subject_token')
    const shown = await read(context, 'actor_token')
    if (shown.claims['sub'] === subject.claims['sub'])
      throw badToken('actor_token', 'the actor is the subject')
    if (shown.account?.id !== client.id || shown.client.id !== client.id)
      throw badToken('actor_token', "it is not the agent's own token")
    return shown
  }

  /** What the user has consented to; undefined where nothing was asked of the user. */
  const consentIn = (
    { seen, consent }: DelegationTerms,
    { doc }: TokenClient,
  ): ReadonlySet<string> | undefined => {
    if (seen?.revoked_at || (!consent && doc.consentRequired)) throw notAllowed()
    return consent
  }

  const scopeOf = async (
    { issuer, client, form }: GrantContext,
    subject: Subject,
    agent: BoundAgent,
    terms: DelegationTerms,
  ): Promise<readonly string[]> => {
    const consent = consentIn(terms, client)
    const ofAgent = new Set([openidScope, ...agent.doc.allowedScopes])
    const common = subject.scope.filter(
      (one) => allowedScopes(client).has(one) && ofAgent.has(one) && (consent?.has(one) ?? true),
    )
    const asked = form.get('scope')
    // A high-risk scope is asked for by name: the user confirms what the agent wants now.
    if (asked === undefined) return rememberedScopes(issuer.view, common)
    const wanted = parseScope(asked)
    const beyond = wanted.find((one) => !common.includes(one))
    if (beyond !== undefined)
      throw invalidScope(
        `the scope ${beyond} is not in the subject_token, not allowed to the agent, or not consented to`,
      )
    return wanted
  }

  const lifespanOf = (
    { issuer, client }: GrantContext,
    shown: readonly (ExchangedToken | undefined)[],
    { doc: { expiresAt = Number.POSITIVE_INFINITY } }: BoundAgent,
    confirmedUntil: number,
  ): number => {
    const now = Math.floor(clock.now() / 1000)
    return Math.min(
      firstEnd(...shown) - now,
      Math.floor(Math.min(expiresAt, confirmedUntil) / 1000) - now,
      lifetimesOf(issuer.settings, client.doc).accessToken,
      longest,
    )
  }

  return {
    name: 'token-exchange',
    event: 'DELEGATION_TOKEN',
    parameters: exchangeParameters,
    handle: async (context) => {
      const { issuer, client, form, resources } = context
      const agent = await agentOf(context)
      checkRequested(form)
      const actor: Actor = { sub: client.id, iss: issuer.url, client_id: client.clientId }
      let asked: Promise<DelegationTerms> | undefined
      const termsOf: TermsOf = ({ id: userId }) => {
        asked ??= delegations.terms({ userId, agentId: agent.id, clientId: client.id })
        return asked
      }
      const subject = await subjectOf(context, actor, termsOf)
      const { claims, user, grant } = subject
      const shown = await shownActor(context, subject)
      const named = claims['may_act']
      if (named !== undefined && !mayAct(issuer, named, actor))
        throw badToken('subject_token', 'may_act names another actor')
      const act = actingChain(claims['act'], actor)
      const impersonator = impersonatorIn(claims['act'])
      const terms = await termsOf(user)
      const scope = await scopeOf(context, subject, agent, terms)
      const targets = [...new Set([...resources, ...allowedAudiences(client, form)])]
      const confirmedUntil = await confirm(issuer, { user, agent, scope, targets })
      const lifespan = lifespanOf(context, [subject, shown], agent, confirmedUntil)
      const authentication = authenticationOf(subject, grantsStore)
      // Of the user to the agent: a revoked consent ends it, and the token with it.
      const made = grantsStore.create({
        realm: issuer.name,
        clientId: client.id,
        userId: user.id,
        sid: grant?.sid ?? undefined,
        offline: grant?.offline === 1,
        scope,
        expiresAt: clock.now() + lifespan * 1000,
      })
      return {
        user,
        scope,
        resources: targets,
        ...(authentication ? { authentication } : {}),
        actorGrantIds: [
          ...endingsOf(claims['jti']),
          ...(shown ? endingsOf(shown.claims['jti']) : []),
          made.grant.id,
        ],
        claims: { ...act, ...(named === undefined ? {} : { may_act: named }) },
        lifespan,
        statements: [
          ...made.statements,
          delegations.use(
            {
              realm: issuer.name,
              userId: user.id,
              agentId: agent.id,
              clientId: client.id,
              scope,
            },
            terms.seen,
          ),
        ],
        onConflict: async () => notAllowed(),
        doer: { actor: client.id, onBehalfOf: user.id },
        detail: [
          `agent ${agent.name}, from ${subject.client.clientId}`,
          // The agent acts, and the user is the subject: an administrator in the chain is named beside them.
          ...(impersonator === undefined ? [] : [`impersonated by ${impersonator}`]),
        ].join(', '),
        answer: { issued_token_type: accessTokenType },
      }
    },
  }
}
