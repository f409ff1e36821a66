/** A realm whose users sign in at a SAML provider of our own making, which is none of the server's code. */

import { createHash, randomBytes } from 'node:crypto'
import type { Hints } from '#server/broker/open.ts'
import type { Departure, UpstreamIdentity } from '#server/broker/protocol.ts'
import { UpstreamRefused } from '#server/broker/protocol.ts'
import { newId } from '#server/platform/ids.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import {
  MESSAGE_LIMIT,
  readBase64,
  readElement,
  readQuery,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import type { Backend } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import {
  type AssertionParts,
  assertion,
  at,
  audience,
  confirmation,
  idp,
  now,
  type ResponseParts,
  response,
  signedAssertion,
  sp,
} from './answers.ts'

export interface Asked {
  readonly departure: Departure
  /** The message that the provider gets. */
  readonly xml: string
  readonly request: XmlElement
  readonly relayState: string
}

/** What an honest answer to a request says. */
export const answering = ({ request }: Pick<Asked, 'request'>) => {
  const { ID = '', AssertionConsumerServiceURL: acs = '' } = request.attributes
  return answerTo(acs, `InResponseTo="${ID}"`)
}

/** The same to no request, where it is empty. */
export const answerTo = (acs: string, inResponseTo = '') => {
  const inAssertion: Partial<AssertionParts> = {
    id: `_${randomBytes(8).toString('hex')}`,
    confirmation: confirmation(`${inResponseTo} NotOnOrAfter="${at(300)}" Recipient="${acs}"`),
    conditions: `<saml:Conditions NotOnOrAfter="${at(300)}">${audience(sp)}</saml:Conditions>`,
  }
  const inResponse: Partial<ResponseParts> = {
    attributes: `Version="2.0" IssueInstant="${at(0)}" Destination="${acs}" ${inResponseTo}`,
  }
  return {
    inAssertion,
    inResponse,
    assertion: (changes: Partial<AssertionParts> = {}) => assertion({ ...inAssertion, ...changes }),
    signedAssertion: (changes: Partial<AssertionParts> = {}, key = sender.privateKey) =>
      signedAssertion({ ...inAssertion, ...changes }, { key }),
    /** A Response with a signed Assertion. */
    answer: (changes: Partial<AssertionParts> = {}, key = sender.privateKey) =>
      response(signedAssertion({ ...inAssertion, ...changes }, { key }), inResponse),
  }
}

/** An artifact of type 4 (SAML Bindings §3.6.4). */
export const artifactOf = (entityId = idp, index = 0): string =>
  Buffer.concat([
    Buffer.of(0, 4, 0, index),
    createHash('sha1').update(entityId).digest(),
    randomBytes(20),
  ]).toString('base64')

export const openSamlSite = async (backend: Backend, clock = { now: () => now }) => {
  const outside: Receiver = await openReceiver()
  const site: OidcSite = await openIssuer(backend, {
    clock,
    env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
  })
  const { broker, tokens } = site.server.areas
  const issuer = async (): Promise<Issuer> => {
    const found = await tokens.issuers.fresh('acme')
    if (!found) throw new Error('no realm')
    return found
  }

  const read = (departure: Departure, name: `samlp:${string}`): Omit<Asked, 'departure'> => {
    const root = xmlName(name)
    if (departure.kind === 'form') {
      const { SAMLRequest = '', RelayState = '' } = departure.fields
      const xml = readBase64(SAMLRequest, MESSAGE_LIMIT)
      return { xml, request: readElement(xml, { root }), relayState: RelayState }
    }
    const query = readQuery(departure.url.slice(departure.url.indexOf('?') + 1))
    const { received: xml, relayState = '' } = query
    return { xml, request: readElement(xml, { root }), relayState }
  }

  const landing = (form: Readonly<Record<string, string>>) => ({
    method: 'POST' as const,
    rawQuery: '',
    rawBody: new URLSearchParams(form).toString(),
  })

  return {
    site,
    outside,
    broker,
    issuer,
    read,
    landing,
    /** A provider under a new alias. */
    provider: async (
      config: Readonly<Record<string, unknown>>,
      protocol = 'saml',
      more: Readonly<Record<string, unknown>> = {},
    ) => {
      const alias = `p-${newId().slice(-12)}`
      const document = { alias, protocol, config, ...more }
      const { body } = await site.admin('POST', '/identity-providers', document)
      return { alias, body }
    },
    begin: async (alias: string, hints: Hints = {}): Promise<Asked> => {
      const purpose = { kind: 'sign-in', data: {} } as const
      const { departure } = await broker.begin(await issuer(), alias, purpose, 'browser', hints)
      return { departure, ...read(departure, 'samlp:AuthnRequest') }
    },
    /** The browser brings a form from the provider. */
    finish: async (
      alias: string,
      form: Readonly<Record<string, string>>,
    ): Promise<UpstreamIdentity> => {
      const rawQuery = await broker.receive(await issuer(), alias, landing(form))
      if (rawQuery === undefined) throw new UpstreamRefused('expired', 'no trip waits for it')
      const back = { method: 'GET', rawQuery, rawBody: '' } as const
      return (await broker.finish(await issuer(), alias, back, 'browser')).identity
    },
    close: async (): Promise<void> => {
      await site.close()
      await outside.close()
    },
  }
}

export type SamlSite = Awaited<ReturnType<typeof openSamlSite>>

/** A Response as the form of the POST binding. */
export const posted = (xml: string, { relayState }: Pick<Asked, 'relayState'>) => ({
  SAMLResponse: Buffer.from(xml).toString('base64'),
  RelayState: relayState,
})

/** Why it is refused; nothing when it is accepted. */
export const refused = async (work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof UpstreamRefused) return `${error.reason}: ${error.message}`
    throw error
  }
}
