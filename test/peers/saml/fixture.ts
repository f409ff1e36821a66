/**
 * An identity provider and a browser for service providers that other people wrote. Every message between both is kept as
 * the browser carries it, and what we wrote goes to the judges before the browser closes.
 */

import type { BrowserContext, Page, Request } from 'playwright-core'
import { expect } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, change, password } from '../../oidc/relying-party.ts'
import { certificatesOf, providerPath } from '../../saml/fixture.ts'
import type { Backend } from '../../support/backends.ts'
import { openBrowser } from '../../support/processes/browser.ts'
import { type Judges, openJudges } from './judges.ts'
import { type CarriedMessage, judge, messageIn, rootOf, statusCodesOf } from './messages.ts'

export interface Message extends CarriedMessage {
  readonly from: 'identity provider' | 'service provider'
}

export interface Visit {
  readonly page: Page
  readonly messages: readonly Message[]
  /** Opens an address that wants a user, signs in where the sign-in page comes, and waits for the way back. */
  signIn(url: string, back?: string, username?: string): Promise<void>
  /** Signs out at the identity provider, and waits until it has notified every application. */
  signOut(): Promise<void>
  /** Whether an address of a service provider leads to the sign-in page. */
  isSignedOut(url: string): Promise<boolean>
  /** Codes of the messages of a name, in their order: `identity provider Success`. */
  statuses(name: string): string[]
  /** The page as JSON. */
  shown(): Promise<Record<string, unknown>>
  /** Judges every message that we wrote. */
  close(): Promise<void>
}

export interface SamlSite {
  readonly site: OidcSite
  readonly judges: Judges
  readonly aliceId: string
  /** Of the identity provider. */
  readonly metadata: () => Promise<string>
  /** Base64 of the DER. */
  readonly certificates: () => Promise<string[]>
  /** Imports a service provider from its metadata and changes fields of it; answers its entity ID. */
  register(metadata: string, more?: { readonly options?: object }): Promise<string>
  visit(): Promise<Visit>
  close(): Promise<void>
}

const messageOf = (site: OidcSite, request: Request): Message | undefined => {
  const message = messageIn(request)
  const isToUs = message?.url.startsWith(`${site.issuer}/`)
  return message && { ...message, from: isToUs ? 'service provider' : 'identity provider' }
}

/** A response gives RelayState back byte for byte; so does every other answer. */
const expectRelayStates = (messages: readonly Message[]): void => {
  messages.forEach((message, index) => {
    if (message.from !== 'identity provider' || message.parameter !== 'SAMLResponse') return
    const asked = messages
      .slice(0, index)
      .findLast((one) => one.from === 'service provider' && one.parameter === 'SAMLRequest')
    if (asked) expect(message.relayState).toBe(asked.relayState)
  })
}

export const openSamlSite = async (backend: Backend): Promise<SamlSite> => {
  const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
  const [site, browser] = await Promise.all([openIssuer(backend, { env }), openBrowser()])
  const judges = openJudges()
  const aliceId = await addPerson(site, 'alice')
  const metadata = async (): Promise<string> => (await site.get('/saml/idp/metadata')).body

  const certificates = async (): Promise<string[]> => certificatesOf(await metadata())

  const visit = async (): Promise<Visit> => {
    const context: BrowserContext = await browser.newContext()
    const messages: Message[] = []
    context.on('request', (request) => {
      const message = messageOf(site, request)
      if (message) messages.push(message)
    })
    const page = await context.newPage()
    return {
      page,
      messages,
      signIn: async (url, back = url, username = 'alice') => {
        await page.goto(url)
        if (page.url() === back) return
        const field = page.getByLabel('Password')
        await Promise.race([field.waitFor(), page.waitForURL(back)])
        if (page.url() === back) return
        await page.getByLabel('Username').fill(username)
        await field.fill(password)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.waitForURL(back).catch(async (error: unknown) => {
          const shown = await page.locator('body').innerText()
          throw new Error(`stopped at ${page.url()}, which shows: ${shown}`, { cause: error })
        })
      },
      signOut: async () => {
        await page.goto(`${site.issuer}/logout`)
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
      },
      isSignedOut: async (url) => {
        await page.goto(url)
        return (await page.getByLabel('Password').count()) === 1
      },
      statuses: (name) =>
        messages
          .filter(({ xml }) => rootOf(xml) === name)
          .map(({ from, xml }) => [from, ...statusCodesOf(xml)].join(' ')),
      shown: async () => JSON.parse((await page.textContent('pre')) ?? ''),
      close: async () => {
        await context.close()
        expectRelayStates(messages)
        const known = await certificates()
        for (const message of messages)
          if (message.from === 'identity provider') judge(judges, message, known)
      },
    }
  }

  return {
    site,
    judges,
    aliceId,
    metadata,
    certificates,
    register: async (text, more = {}) => {
      const { send } = await site.server.signedIn('master', 'admin')
      const path = '/admin/realms/acme/saml-clients/import'
      const type = { 'content-type': 'application/samlmetadata+xml' }
      const { status, body } = await send('POST', path, text, type)
      expect([status, body]).toEqual([201, body])
      const { options = {}, ...others } = more
      await change(site, providerPath(body.entityId), {
        ...others,
        options: { ...body.options, ...options },
      })
      return body.entityId
    },
    visit,
    close: async () => {
      judges.close()
      await browser.close()
      await site.close()
    },
  }
}
