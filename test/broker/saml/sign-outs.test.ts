/** Sign-outs across a SAML provider by the addresses of the server: by redirect, by a form and over SOAP (SAML Profiles §4.4). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nameIdFormats } from '#schemas/drivers/saml.ts'
import type { JobHandler } from '#server/jobs/job.ts'
import { logoutJobs } from '#server/run/background.ts'
import { childOf } from '#server/xml/index.ts'
import { actionOf, type Page, type Person } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { at, attribute, encrypted, idp, nameId, now, sp } from './answers.ts'
import { formIn, isAlive, queryOf, signIn, signOut } from './browsers.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

const spaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
const logoutService = (binding: string, url: string): string =>
  `<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${url}"/>`
const metadata = (...services: string[]): string =>
  `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${idp}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${sender.certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>${services.join('')}<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>`

let count = 0
const message = (
  name: 'LogoutRequest' | 'LogoutResponse',
  attributes: string,
  inside: string,
): { readonly id: string; readonly xml: string } => {
  count += 1
  const id = `_m${count}`
  return {
    id,
    xml: `<samlp:${name} ${spaces} ID="${id}" Version="2.0" IssueInstant="${at(0)}" ${attributes}><saml:Issuer>${idp}</saml:Issuer>${inside}</samlp:${name}>`,
  }
}
const statusOf = (code: string): string =>
  `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${code}"/></samlp:Status>`
/** Another person, with another session there. */
const as = (name: string, format?: string) => ({
  nameId: nameId(name, format),
  authn: `<saml:AuthnStatement AuthnInstant="${at(-1)}" SessionIndex="_${name}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:x</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
  attributes: `<saml:AttributeStatement>${attribute('uid', `u-${name}`)}${attribute('email', `${name}@there.example`)}</saml:AttributeStatement>`,
})

describe.each(backends)('a sign-out across a SAML provider on $name', (backend) => {
  let saml: SamlSite
  let time = now
  beforeAll(async () => {
    saml = await openSamlSite(backend, { now: () => time })
  }, 60_000)
  afterAll(() => saml.close())

  const logoutUrl = (alias: string): string => `${saml.site.issuer}/broker/${alias}/logout`
  const provider = async (services: readonly string[], more: object = {}): Promise<string> => {
    const config = { spEntityId: sp, metadataXml: metadata(...services), ...more }
    return (await saml.provider(config, 'saml', { trustEmail: true })).alias
  }
  const byForm = () => provider([logoutService('HTTP-POST', 'https://idp.example/slo')])
  const answerTo = (alias: string, id: string, code = 'Success') =>
    message(
      'LogoutResponse',
      `Destination="${logoutUrl(alias)}" InResponseTo="${id}"`,
      statusOf(code),
    )

  /** The browser stands on our page that leads to the provider. */
  const leave = async (
    alias: string,
  ): Promise<{ person: Person; page: Page; id: string; relayState: string }> => {
    count += 1
    const person = await signIn(saml, alias, as(`n${count}`))
    const page = await signOut(saml, person)
    const { request, relayState } = formIn(saml, page, 'samlp:LogoutRequest')
    return { person, page, id: request.attributes['ID'] ?? '', relayState }
  }
  const bring = (person: Person, alias: string, xml: string, relayState: string) =>
    person.open(logoutUrl(alias), {
      SAMLResponse: Buffer.from(xml).toString('base64'),
      RelayState: relayState,
    })

  it('goes there by a form where the metadata offers no redirect, and comes back by one', async () => {
    const alias = await byForm()
    const { person, page, id, relayState } = await leave(alias)
    expect([page.status, actionOf(page.body)]).toEqual([200, 'https://idp.example/slo'])
    expect(page.headers.get('content-security-policy')).toContain('https://idp.example')
    expect(await isAlive(saml, person)).toBe(false)
    const answer = answerTo(alias, id)
    const back = await bring(person, alias, signed(answer.xml, answer.id), relayState)
    expect([back.status, back.url]).toEqual([200, `${saml.site.issuer}/logout`])
    expect(back.body).toContain('You are signed out')
  })

  it('shows the page to the provider in the browser that signed out alone', async () => {
    const { page } = await leave(await byForm())
    const other = await fetch(page.url, { redirect: 'manual' })
    expect([other.status, other.headers.get('location')]).toEqual([303, '/realms/acme/logout'])
  })

  // What an answer is worth is in test/broker/saml/logout.test.ts; the session here is over all the same.
  it.each([
    ['to another request', (alias: string, _id: string) => answerTo(alias, '_other'), true],
    ['that nobody signed', (alias: string, id: string) => answerTo(alias, id), false],
    ['with another status', (alias: string, id: string) => answerTo(alias, id, 'Responder'), true],
  ])('shows the end of the session after an answer %s', async (_what, make, isSigned) => {
    const alias = await byForm()
    const { person, id, relayState } = await leave(alias)
    const { id: own, xml } = make(alias, id)
    const back = await bring(person, alias, isSigned ? signed(xml, own) : xml, relayState)
    expect([back.status, back.url]).toEqual([200, `${saml.site.issuer}/logout`])
    expect(back.body).toContain('You are signed out')
  })

  it('goes on to where the application wanted it', async () => {
    const alias = await provider([logoutService('HTTP-Redirect', 'https://idp.example/slo')])
    const uri = 'https://app.example/bye'
    const client = `c${count}`
    await saml.site.client({ clientId: client, postLogoutRedirectUris: [uri] })
    const person = await signIn(saml, alias, as('target'))
    const query = new URLSearchParams({ client_id: client, post_logout_redirect_uri: uri })
    const page = await person.submit(await person.open(`${saml.site.issuer}/logout?${query}`), {})
    const there = /href="(https:\/\/idp\.example\/slo[^"]*)"/.exec(page.body)?.[1] ?? ''
    const { request, relayState } = saml.read(
      { kind: 'redirect', url: there.replaceAll('&amp;', '&') },
      'samlp:LogoutRequest',
    )
    const { xml } = answerTo(alias, request.attributes['ID'] ?? '')
    const back = await person.open(
      `${logoutUrl(alias)}?${queryOf('SAMLResponse', xml, relayState)}`,
    )
    expect(back.away).toBe(uri)
  })

  describe('over SOAP', () => {
    const run = () => {
      const { areas } = saml.site.server
      return runJobs(areas.jobs, logoutJobs(areas) as JobHandler)
    }
    const kept = async (): Promise<number> => {
      const { db } = saml.site.server.areas.storage
      const rows = await db
        .selectFrom('broker_sessions')
        .selectAll()
        .where('upstream_sid', '=', '_soap')
        .execute()
      return rows.length
    }

    it('is told where the metadata offers nothing else, until the provider confirms it', async () => {
      const alias = await provider([logoutService('SOAP', saml.outside.url('/slo'))])
      const person = await signIn(saml, alias, as('soap'))
      const page = await signOut(saml, person)
      // The browser stays here.
      expect(page.body).toContain('You are signed out')
      expect(await kept()).toBe(1)
      const answered = (code: string, key = sender.privateKey) =>
        saml.outside.answer((response, { body }) => {
          const id = /LogoutRequest [^>]*ID="([^"]+)"/.exec(body)?.[1] ?? ''
          const { id: own, xml } = message('LogoutResponse', `InResponseTo="${id}"`, statusOf(code))
          response
            .writeHead(200, { 'content-type': 'text/xml' })
            .end(
              `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${signed(xml, own, { key })}</soap:Body></soap:Envelope>`,
            )
        })
      answered('Responder')
      await run()
      expect(await kept()).toBe(1)
      answered('Success', stranger.privateKey)
      time += 15_000
      await run()
      expect(await kept()).toBe(1)
      answered('Success')
      time += 90_000
      await run()
      expect(await kept()).toBe(0)
      time = now
      expect(saml.outside.at('/slo')).toHaveLength(3)
      const [{ body } = expect.unreachable()] = saml.outside.at('/slo').slice(-1)
      expect(body).toContain('>soap</saml:NameID>')
      expect(body).toContain('<samlp:SessionIndex>_soap</samlp:SessionIndex>')
      expect(body).toContain('<ds:SignatureValue>')
    })
  })

  describe('that the provider asks for', () => {
    const asked = (alias: string, name: string, format?: string, session = '') =>
      queryOf(
        'SAMLRequest',
        message(
          'LogoutRequest',
          `Destination="${logoutUrl(alias)}"`,
          `${nameId(name, format)}${session}`,
        ).xml,
        'r',
      )

    it.each([
      ['persistent', nameIdFormats.persistent],
      ['transient', nameIdFormats.transient],
    ])(
      'without SessionIndex ends the sessions of a %s NameID where an attribute is the subject',
      async (format, urn) => {
        const alias = await provider([logoutService('HTTP-Redirect', 'https://idp.example/slo')], {
          subjectAttribute: 'uid',
        })
        const [name, other] = [`${format}-one`, `${format}-two`]
        const [one, two] = [
          await signIn(saml, alias, as(name, urn)),
          await signIn(saml, alias, as(other, urn)),
        ]
        const answer = await fetch(`${logoutUrl(alias)}?${asked(alias, name, urn)}`, {
          redirect: 'manual',
        })
        expect(answer.status).toBe(303)
        const { request } = saml.read(
          { kind: 'redirect', url: answer.headers.get('location') ?? '' },
          'samlp:LogoutResponse',
        )
        expect(childOf(request, 'samlp:Status')).toBeDefined()
        expect([await isAlive(saml, one), await isAlive(saml, two)]).toEqual([false, true])
      },
    )

    it('is answered by a form where the provider takes no redirect', async () => {
      const alias = await byForm()
      const person = await signIn(saml, alias, as('form'))
      const answer = await fetch(`${logoutUrl(alias)}?${asked(alias, 'form')}`, {
        redirect: 'manual',
      })
      const body = await answer.text()
      expect([answer.status, actionOf(body)]).toEqual([200, 'https://idp.example/slo'])
      expect(body).toContain('name="SAMLResponse"')
      expect(await isAlive(saml, person)).toBe(false)
    })

    it('is answered too where it cannot be carried out: again, or for a name that we have no key for', async () => {
      const alias = await provider([logoutService('HTTP-Redirect', 'https://idp.example/slo')])
      const person = await signIn(saml, alias, as('unheard'))
      const answerTo = async (query: string): Promise<string[]> => {
        const answer = await fetch(`${logoutUrl(alias)}?${query}`, { redirect: 'manual' })
        expect(answer.status).toBe(303)
        const url = answer.headers.get('location') ?? ''
        const { request, relayState } = saml.read({ kind: 'redirect', url }, 'samlp:LogoutResponse')
        const code = childOf(childOf(request, 'samlp:Status') ?? request, 'samlp:StatusCode')
        return [code?.attributes['Value']?.split(':').at(-1) ?? '', relayState]
      }
      const secret = await encrypted(
        nameId('unheard').replace('<saml:NameID', `$& ${spaces}`),
        'EncryptedID',
      )
      for (const inside of [secret, '<samlp:SessionIndex>_unheard</samlp:SessionIndex>']) {
        const { xml } = message('LogoutRequest', `Destination="${logoutUrl(alias)}"`, inside)
        expect(await answerTo(queryOf('SAMLRequest', xml, 'r'))).toEqual(['Responder', 'r'])
        expect(await isAlive(saml, person)).toBe(true)
      }
      const once = asked(alias, 'unheard')
      expect([await answerTo(once), await answerTo(once)]).toEqual([
        ['Success', 'r'],
        ['Responder', 'r'],
      ])
      expect(await isAlive(saml, person)).toBe(false)
    })

    it('of a stranger ends nothing', async () => {
      const alias = await byForm()
      const person = await signIn(saml, alias, as('safe'))
      const { xml } = message('LogoutRequest', `Destination="${logoutUrl(alias)}"`, nameId('safe'))
      const query = queryOf('SAMLRequest', xml, 'r', stranger.privateKey)
      expect((await fetch(`${logoutUrl(alias)}?${query}`, { redirect: 'manual' })).status).toBe(400)
      expect(await isAlive(saml, person)).toBe(true)
    })
  })
})
