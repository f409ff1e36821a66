/** Logouts that we send to the provider, and those that it sends to us (SAML Profiles §4.4). */

import { newMessageId, signElement } from '#server/xml/index.ts'
import {
  type BrokerProtocol,
  LogoutRefused,
  type Provider,
  UpstreamRefused,
} from '../../protocol.ts'
import {
  endedBy,
  isLogoutResponse,
  type LogoutRules,
  logoutAnswer,
  logoutRequest,
  readLogoutRequest,
  readLogoutResponse,
  readSoapLogoutResponse,
} from './logout.ts'
import { type Parties, type SamlParts, spEntityIdOf, stateOf } from './parties.ts'
import { carry } from './request.ts'
import type { Scheme } from './scheme.ts'
import { sendSoapRequest } from './soap.ts'
import type { Upstream } from './upstream.ts'

/** Of our LogoutRequest. */
interface KeptLogout {
  readonly id: string
}

export const createSingleLogout = (
  parts: SamlParts,
  scheme: Scheme,
  { signersFor, upstreamFor, following }: Parties,
): Pick<BrokerProtocol, 'logout' | 'tellLogout' | 'endSession' | 'logoutAnswer' | 'loggedOut'> => {
  const { clock } = parts

  const logoutRulesOf = (
    provider: Provider,
    upstream: Upstream,
    logoutUrl: string,
  ): LogoutRules => {
    const { skewMs, decryption } = scheme.settings(provider)
    return {
      idpEntityId: upstream.entityId,
      keys: upstream.keys,
      now: clock.now(),
      skewMs,
      decryption,
      logoutUrl,
      subjectIsNameId: scheme.isNameIdSubject(provider),
    }
  }

  return {
    logout: async (provider, session, { state }) => {
      const { logout, soapLogoutUrl } = await upstreamFor(provider)
      const { nameId } = session
      if (nameId === undefined) return undefined
      if (!logout) return soapLogoutUrl === undefined ? undefined : { kind: 'server' }
      const { url, binding } = logout
      const kept: KeptLogout = { id: newMessageId() }
      const made = { ...kept, url, spEntityId: spEntityIdOf(provider), now: clock.now() }
      const message = logoutRequest(nameId, session, made)
      const [key] = await signersFor(provider)
      const sent = { parameter: 'SAMLRequest', message, url, binding, relayState: state } as const
      return { kind: 'browser', departure: await carry(sent, key), kept }
    },

    tellLogout: async (provider, session, signal) => {
      const upstream = await upstreamFor(provider)
      const { soapLogoutUrl: url } = upstream
      const { nameId } = session
      // The metadata has changed since, and names no such service any more.
      if (url === undefined || nameId === undefined) return
      const [key] = await signersFor(provider)
      const made = {
        id: newMessageId(),
        url,
        spEntityId: spEntityIdOf(provider),
        now: clock.now(),
      }
      const received = await sendSoapRequest(parts, {
        service: 'single logout service',
        url,
        message: await signElement(logoutRequest(nameId, session, made), key),
        client: scheme.client(provider),
        signal,
      })
      const problem = await following(provider, upstream, (one) =>
        readSoapLogoutResponse(received, made, logoutRulesOf(provider, one, url)),
      )
      if (problem !== undefined) throw new UpstreamRefused('denied', problem)
    },

    endSession: async (provider, arrival, url) => {
      const upstream = await upstreamFor(provider)
      const asked = await following(provider, upstream, (one) =>
        readLogoutRequest(arrival, logoutRulesOf(provider, one, url)),
      )
      const [key] = await signersFor(provider)
      const spEntityId = spEntityIdOf(provider)
      const answer = (isEnded: boolean) =>
        logoutAnswer(upstream, asked, { spEntityId, key, now: clock.now(), isEnded })
      try {
        return { ...endedBy(asked), answer }
      } catch (error) {
        throw error instanceof UpstreamRefused ? new LogoutRefused(error, answer) : error
      }
    },

    logoutAnswer: (arrival) =>
      isLogoutResponse(arrival) ? { state: stateOf(arrival) } : undefined,

    loggedOut: async (provider, kept, arrival, url) => {
      const upstream = await upstreamFor(provider)
      const { id } = kept as KeptLogout
      return following(provider, upstream, (one) =>
        readLogoutResponse(arrival, id, logoutRulesOf(provider, one, url)),
      )
    },
  }
}
