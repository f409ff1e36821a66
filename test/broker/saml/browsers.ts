/** Browsers without scripts that sign in through a SAML provider by the addresses of the server. */

import { sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import type { XmlElement } from '#server/xml/index.ts'
import { hiddenFields, newPerson, type Page, type Person } from '../../oidc/relying-party.ts'
import { sender } from '../../xml/keys.ts'
import { rsa256 } from '../../xml/messages.ts'
import type { AssertionParts } from './answers.ts'
import { answering, posted, type SamlSite } from './fixture.ts'

/** A message that a redirect took to the provider. */
export const sentTo = (
  saml: SamlSite,
  { away = '' }: Page,
  name: `samlp:${string}`,
): { readonly request: XmlElement; readonly relayState: string } =>
  saml.read({ kind: 'redirect', url: away }, name)

/** A message that a page of ours has in a form. */
export const formIn = (
  saml: SamlSite,
  { body }: Page,
  name: `samlp:${string}`,
): { readonly request: XmlElement; readonly relayState: string } =>
  saml.read({ kind: 'form', action: '', fields: hiddenFields(body) }, name)

/** Signed in as the person of an honest answer. */
export const signIn = async (
  saml: SamlSite,
  alias: string,
  changes: Partial<AssertionParts> = {},
): Promise<Person> => {
  const person = newPerson(saml.site)
  const left = await person.open(`${saml.site.issuer}/broker/${alias}/login`)
  const asked = sentTo(saml, left, 'samlp:AuthnRequest')
  const form = posted(answering(asked).answer(changes), asked)
  const { body } = await person.open(`${saml.site.issuer}/broker/${alias}/endpoint`, form)
  if (!isSignedIn(person)) throw new Error(`the answer has led to no session: ${body}`)
  return person
}

export const isSignedIn = ({ jar }: Person): boolean => jar.has('iam-session-acme')

/** Whether the session goes on at the server. */
export const isAlive = async (saml: SamlSite, person: Person): Promise<boolean> =>
  !(await person.open(`${saml.site.issuer}/account`)).body.includes('name="password"')

/** Signs out by the page of the realm. */
export const signOut = async (saml: SamlSite, person: Person): Promise<Page> =>
  person.submit(await person.open(`${saml.site.issuer}/logout`), {})

/** The query of a message that a key signs. */
export const queryOf = (
  parameter: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  relayState: string,
  key = sender.privateKey,
): string => {
  const encode = encodeURIComponent
  const octets = `${parameter}=${encode(deflateRawSync(xml).toString('base64'))}&RelayState=${encode(relayState)}&SigAlg=${encode(rsa256)}`
  const signature = sign('sha256', Buffer.from(octets), key).toString('base64')
  return `${octets}&Signature=${encode(signature)}`
}
