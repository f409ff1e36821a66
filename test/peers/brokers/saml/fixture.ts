/**
 * A realm whose users sign in at SAML identity providers that other people wrote, in Chromium. Every message is kept as the
 * browser carries it, and what we wrote goes to the judges before the browser closes.
 */

import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { type OidcSite, openIssuer } from '../../../oidc/fixture.ts'
import type { Backend } from '../../../support/backends.ts'
import { openBrowser } from '../../../support/processes/browser.ts'
import { type Judges, openJudges } from '../../saml/judges.ts'
import {
  type CarriedMessage,
  judge,
  messageIn,
  rootOf,
  statusCodesOf,
} from '../../saml/messages.ts'

export interface Upstream {
  readonly metadataUrl: string
  readonly register: (metadata: string, options?: Readonly<Record<string, string>>) => Promise<void>
}

export interface Visit {
  readonly page: Page
  readonly messages: readonly CarriedMessage[]
  /** Leaves for a provider from the sign-in page. */
  leave(alias: string): Promise<void>
  /** Waits until the browser is signed in here, and says as whom. */
  arrived(): Promise<string>
  isSignedIn(): Promise<boolean>
  /** The sign-out page of the realm, and its button. */
  signOut(): Promise<void>
  /** Names of the messages and their senders, with the codes of answers: `we LogoutRequest`, `they LogoutResponse Success`. */
  said(): string[]
  /** Judges every message that we wrote. */
  close(): Promise<void>
}

/** Those that sign for the realm, in its metadata as a service provider; base64 of the DER. */
export const signersIn = (metadata: string): string[] =>
  [...metadata.matchAll(/use="signing">.*?<ds:X509Certificate>([^<]+)/g)].map(
    ([, one]) => one ?? '',
  )

export const openUpstreamSite = async (backend: Backend, clock?: Clock) => {
  const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1,localhost', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
  const [site, browser]: [OidcSite, Awaited<ReturnType<typeof openBrowser>>] = await Promise.all([
    openIssuer(backend, { env, ...(clock && { clock }) }),
    openBrowser(),
  ])
  const judges: Judges = openJudges()
  const certificates = new Set<string>()
  const connected = new Set<string>()
  const isOurs = ({ url }: CarriedMessage): boolean => !url.startsWith(`${site.issuer}/`)
  const account = `${site.issuer}/account`

  const metadataOf = async (alias: string): Promise<string> => {
    const { body } = await site.get(`/broker/${alias}/metadata`)
    for (const one of signersIn(body)) certificates.add(one)
    return body
  }

  const visit = async (): Promise<Visit> => {
    const context = await browser.newContext()
    const messages: CarriedMessage[] = []
    context.on('request', (request) => {
      const message = messageIn(request)
      if (message) messages.push(message)
    })
    const page = await context.newPage()
    const stopped = async (error: unknown): Promise<never> => {
      const shown = await page.locator('body').innerText()
      throw new Error(`stopped at ${page.url()}, which shows: ${shown}`, { cause: error })
    }
    return {
      page,
      messages,
      leave: async (alias) => {
        await page.goto(account)
        await page.getByRole('link', { name: `Continue with ${alias}` }).click()
      },
      arrived: async () => {
        await page.waitForURL(`${account}**`).catch(stopped)
        return page.getByLabel('Email').inputValue()
      },
      isSignedIn: async () => {
        await page.goto(account)
        return (await page.getByLabel('Password').count()) === 0
      },
      signOut: async () => {
        await page.goto(`${site.issuer}/logout`)
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor().catch(stopped)
      },
      said: () =>
        messages.map((message) =>
          [
            isOurs(message) ? 'we' : 'they',
            rootOf(message.xml),
            ...(message.parameter === 'SAMLResponse' ? statusCodesOf(message.xml) : []),
          ].join(' '),
        ),
      close: async () => {
        await context.close()
        for (const message of messages.filter(isOurs)) judge(judges, message, [...certificates])
      },
    }
  }

  return {
    site,
    judges,
    visit,
    /** Makes a provider here, and registers us there. */
    connect: async (
      alias: string,
      upstream: Upstream,
      {
        config = {},
        options,
      }: {
        readonly config?: Readonly<Record<string, unknown>>
        readonly options?: Readonly<Record<string, string>>
      } = {},
    ): Promise<void> => {
      // A test that runs again finds what it has made.
      if (connected.has(alias)) return
      connected.add(alias)
      const { status } = await site.admin('POST', '/identity-providers', {
        alias,
        protocol: 'saml',
        displayName: alias,
        trustEmail: true,
        config: {
          spEntityId: `${site.issuer}/broker/${alias}`,
          metadataUrl: upstream.metadataUrl,
          firstNameAttribute: 'givenName',
          lastNameAttribute: 'sn',
          uidAttribute: 'uid',
          ...config,
        },
      })
      expect(status).toBe(201)
      await upstream.register(await metadataOf(alias), options)
    },
    close: async (): Promise<void> => {
      judges.close()
      await browser.close()
      await site.close()
    },
  }
}

export type UpstreamSite = Awaited<ReturnType<typeof openUpstreamSite>>
