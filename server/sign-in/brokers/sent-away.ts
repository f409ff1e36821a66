/**
 * Browsers that go to an identity provider without a page of ours: the request names one (`kc_idp_hint`, as Keycloak calls it),
 * or the flow does. Not after an error: the way back from there is the page.
 */

import type { FastifyRequest } from 'fastify'
import { isStepOf, providerStepId } from '../authenticators/brokers/identity-provider.ts'
import type { Engine } from '../flow/engine.ts'
import type { Asked } from '../flow/questions.ts'
import type { SignInContext } from '../pages/sign-in-contexts.ts'
import { departurePath } from './addresses.ts'
import type { SignInProviders } from './providers.ts'

/** The parameter of the sign-in page that keeps a browser there. */
export const stayParameter = 'stay'

export type SentAway = (
  request: FastifyRequest,
  context: SignInContext,
  asked: Asked,
) => Promise<string | undefined>

const stays = ({ query }: FastifyRequest): boolean =>
  typeof query === 'object' && query !== null && Object.hasOwn(query, stayParameter)

export const createSentAway =
  ({
    engine,
    providers,
  }: {
    readonly engine: Pick<Engine, 'askAt'>
    readonly providers: Pick<SignInProviders, 'find' | 'isReachable'>
  }): SentAway =>
  async (request, { visitor, pending }, asked) => {
    if (stays(request)) return undefined
    const isAsked = asked.step.id === providerStepId
    const alias = pending?.provider ?? (isAsked ? asked.execution.config['provider'] : undefined)
    if (alias === undefined) return undefined
    const at = await engine.askAt(visitor, asked, isStepOf(alias))
    const provider = at && (await providers.find(visitor.view, alias))
    if (!at || !provider) return undefined
    if (!providers.isReachable(provider, at.signIn.state, undefined)) return undefined
    const { realm, handle, state } = asked.signIn
    return departurePath({ realm, handle, state, stored: false }, alias)
  }
