/**
 * Tells a service provider over SOAP that a session has ended (SAML Profiles §4.4.3.1, Bindings §3.2). The answer must be to
 * this request. The responder authenticates itself "by signing the message or using a binding-specific mechanism" (Profiles
 * §4.4.4.2): over https TLS is that mechanism (Bindings §3.2.2.2), so that a signature may be absent; one that is there is
 * verified. Over http an answer without signature is refused.
 */

import type { Outcome } from '#server/jobs/job.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TellLogout } from '#server/sessions/logout-queue.ts'
import type { SamlSessionKey, SamlSessions } from '#server/sessions/saml-sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { userById } from '#server/users/user-rows.ts'
import {
  childOf,
  isSigned,
  MESSAGE_LIMIT,
  newMessageId,
  readElement,
  readSigned,
  trimmed,
  type XmlElement,
  XmlRefused,
  xmlName,
} from '#server/xml/index.ts'
import { envelope, soapAction, soapType } from '#server/xml/messages/soap.ts'
import { checkSignedBy } from '../bindings/receive.ts'
import { SamlRefused } from '../errors.ts'
import { type ServiceProvider, serviceProviderById } from '../service-provider.ts'
import type { LogoutMessages } from './logout-messages.ts'
import { isOver, statusCodesOf } from './logout-request.ts'
import { channelOf, soapUrlOf } from './participants.ts'

export interface SoapLogoutParts {
  readonly storage: Pick<Storage, 'db' | 'append'>
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly samlSessions: SamlSessions
  readonly messages: LogoutMessages
}

const root = xmlName('soap:Envelope')
const path = [xmlName('soap:Body'), xmlName('samlp:LogoutResponse')]

const answerIn = (
  received: string,
  { issuer, provider, url }: { issuer: Issuer; provider: ServiceProvider; url: string },
): XmlElement => {
  const body = childOf(readElement(received, { root }), 'soap:Body')
  const answer = body && childOf(body, 'samlp:LogoutResponse')
  if (answer && !isSigned(answer) && url.startsWith('https:')) return answer
  if (answer) checkSignedBy(issuer, provider, answer)
  return readSigned(received, { root, path, keys: provider.keys }).element
}

/** A reason to try again; undefined where the session there is over. */
const problemOf = (
  received: string,
  asked: {
    readonly issuer: Issuer
    readonly provider: ServiceProvider
    readonly url: string
    readonly id: string
  },
): string | undefined => {
  const { provider, id } = asked
  const answer = answerIn(received, asked)
  const codes = statusCodesOf(answer)
  const { InResponseTo } = answer.attributes
  if (InResponseTo !== id) return 'its LogoutResponse is to another request'
  const issuer = childOf(answer, 'saml:Issuer')
  if (!issuer || trimmed(issuer) !== provider.entityId)
    return 'its LogoutResponse is of another Issuer'
  return isOver(codes) ? undefined : `it answers ${codes.join(' ')}`
}

export const createSoapLogout = (parts: SoapLogoutParts): TellLogout => {
  const { storage, outgoing, samlSessions, messages } = parts

  const tell = async (
    issuer: Issuer,
    provider: ServiceProvider,
    {
      sid,
      url,
      signal,
    }: { readonly sid: string; readonly url: string; readonly signal: AbortSignal },
  ): Promise<Outcome> => {
    const key = { sid, providerId: provider.id }
    const row = await samlSessions.at(key)
    if (!row) return { kind: 'done' }
    const id = newMessageId()
    const request = messages.request(issuer, provider, row, { id, destination: url })
    const { status, body } = await outgoing.request({
      url,
      method: 'POST',
      headers: { 'content-type': soapType, soapaction: `"${soapAction}"` },
      body: envelope(await messages.signed(issuer, provider, request)),
      maxBytes: MESSAGE_LIMIT,
      signal,
    })
    if (status !== 200) return { kind: 'retry', reason: `it answers ${status}` }
    try {
      const reason = problemOf(Buffer.from(body).toString(), { issuer, provider, url, id })
      if (reason !== undefined) return { kind: 'retry', reason }
    } catch (error) {
      if (!(error instanceof XmlRefused || error instanceof SamlRefused)) throw error
      return { kind: 'retry', reason: `its answer is refused: ${error.message}` }
    }
    await storage.append([samlSessions.ended(key)])
    return { kind: 'done' }
  }

  /** The page of a logout still needs the name, unless the user was erased: then nothing of the user is kept. */
  const forgetErased = async (key: SamlSessionKey, user: string | null): Promise<void> => {
    if (user !== null && (await userById(storage, user))) return
    await storage.append([samlSessions.ended(key)])
  }

  return async ({ target, payload: { sid, user } }, issuer, signal) => {
    const provider = await serviceProviderById(issuer, target)
    if (!provider) return undefined
    const url = soapUrlOf(provider)
    // The others are notified in the browser, if at all.
    if (channelOf(issuer, provider) !== 'back' || url === undefined) {
      await forgetErased({ sid, providerId: provider.id }, user)
      return { kind: 'done' }
    }
    return tell(issuer, provider, { sid, url, signal })
  }
}
