/** The few scripts of the pages in a real browser, with an authenticator that is simulated by it; and the same pages without. */
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormPage } from '#server/http/pages/pages.ts'
import { addVirtualAuthenticator, openBrowser } from '../support/processes/browser.ts'
import { exampleServer } from './server.ts'

const { app, pages, posted } = exampleServer({})
const form: FormPage = { realm: 'plain', action: '/form', csrf: 'token' }
/** What the pages under test are shown with; tests set it. */
let show: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
let status = 'PENDING'
let browser: Browser
let base = ''

beforeAll(async () => {
  app.get('/test/page', (request, reply) => show(request, reply))
  app.get('/test/status', async () => ({ status }))
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  // A relying party is a name, never an address (WebAuthn §5.1.2).
  base = `http://localhost:${port}`
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await app.close()
})

const visit = async (
  look: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> => {
  posted.length = 0
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.goto(`${base}/test/page`)
    await look(page)
  } finally {
    await context.close()
  }
}

const answer = () => {
  const [body] = posted as { response: string; label?: string; _csrf: string }[]
  return { ...body, response: JSON.parse(body?.response ?? 'null') }
}

describe('the script for passkeys', () => {
  const registration = () =>
    generateRegistrationOptions({
      rpName: 'Nordwind',
      rpID: 'localhost',
      userName: 'alice',
      userDisplayName: 'Alice Sørensen',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })

  it('registers one, signs in with it by the button, and offers it in the autofill', async () => {
    const creation = await registration()
    show = (_request, reply) =>
      pages.registerPasskey(reply, { ...form, username: 'alice', options: creation })
    await visit(async (page) => {
      await addVirtualAuthenticator(page)
      await page.getByLabel('Name').fill('Laptop')
      await page.getByRole('button', { name: 'Create passkey' }).click()
      await page.waitForURL('**/form')
      const { response, label } = answer()
      expect(label).toBe('Laptop')
      const registered = await verifyRegistrationResponse({
        response,
        expectedChallenge: creation.challenge,
        expectedOrigin: base,
        expectedRPID: 'localhost',
      })
      expect(registered.verified).toBe(true)
      expect(response.response.transports).toContain('internal')

      const check = async (expectedChallenge: string) =>
        verifyAuthenticationResponse({
          response: answer().response,
          expectedChallenge,
          expectedOrigin: base,
          expectedRPID: 'localhost',
          credential: {
            id: response.id,
            publicKey: registered.registrationInfo?.credential.publicKey ?? new Uint8Array(),
            counter: 0,
          },
        })
      const second = await generateAuthenticationOptions({
        rpID: 'localhost',
        allowCredentials: [{ id: response.id }],
      })
      show = (_request, reply) => pages.webauthn(reply, { ...form, options: second })
      posted.length = 0
      await page.goto(`${base}/test/page`)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.waitForURL('**/form')
      expect((await check(second.challenge)).verified).toBe(true)

      // The simulated authenticator answers the request that waits in the autofill at once.
      const first = await generateAuthenticationOptions({ rpID: 'localhost' })
      show = (_request, reply) => pages.identify(reply, { ...form, passkey: first })
      posted.length = 0
      await page.goto(`${base}/test/page`)
      await page.waitForURL('**/form')
      expect((await check(first.challenge)).verified).toBe(true)
      expect(answer().response.response.userHandle).toBe(creation.user.id)
    })
  })

  it('tells a failure and lets the user try again', async () => {
    const options = await generateAuthenticationOptions({ rpID: 'elsewhere.example' })
    show = (_request, reply) => pages.webauthn(reply, { ...form, options })
    await visit(async (page) => {
      const button = page.getByRole('button', { name: 'Continue' })
      await button.click()
      const alert = page.getByRole('alert').filter({ visible: true })
      expect(await alert.textContent()).toContain('did not work')
      expect(await button.isEnabled()).toBe(true)
      expect(posted).toEqual([])
    })
  })

  it('is missed by a page without scripts, which says so and leaves the other ways open', async () => {
    show = (_request, reply) => pages.webauthn(reply, { ...form, options: {}, hasOthers: true })
    await visit(
      async (page) => {
        expect(await page.locator('noscript .message').isVisible()).toBe(true)
        await page.getByRole('button', { name: 'Try another way' }).click()
        await page.waitForURL('**/form')
        expect(posted).toEqual([{ _csrf: 'token', step: 'other' }])
      },
      { javaScriptEnabled: false },
    )
    show = (_request, reply) => pages.identify(reply, { ...form, passkey: {} })
    await visit(
      async (page) => {
        expect(await page.getByRole('button', { name: 'passkey' }).count()).toBe(0)
      },
      { javaScriptEnabled: false },
    )
  })
})

describe('the script that waits', () => {
  it('goes on once there is an answer', async () => {
    status = 'PENDING'
    show = (_request, reply) => pages.push(reply, { ...form, statusUrl: '/test/status' })
    await visit(async (page) => {
      await page.waitForResponse('**/test/status')
      expect(posted).toEqual([])
      status = 'APPROVED'
      await page.waitForURL('**/form')
      expect(posted).toEqual([{ _csrf: 'token', check: 'true' }])
    })
  })

  it('is replaced by reloading and a button where there are none', async () => {
    status = 'PENDING'
    show = (_request, reply) => pages.push(reply, { ...form, statusUrl: '/test/status' })
    await visit(
      async (page) => {
        const refresh = page.locator('meta[http-equiv="refresh"]')
        expect(await refresh.getAttribute('content')).toBe('5')
        await page.getByRole('button', { name: 'Check now' }).click()
        await page.waitForURL('**/form')
        expect(posted).toEqual([{ _csrf: 'token', check: 'true' }])
      },
      { javaScriptEnabled: false },
    )
  })
})

describe('the script for recovery codes', () => {
  const codes = ['7K3M-Q0ZT-9XWB', '2222-3333-4444']

  it('copies them', async () => {
    show = (_request, reply) => pages.recoveryCodes(reply, { ...form, username: 'alice', codes })
    await visit(
      async (page) => {
        await page.getByRole('button', { name: 'Copy' }).click()
        await page.getByText('Copied.').waitFor()
        expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(codes.join('\n'))
        expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(true)
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  it('is not needed to keep them', async () => {
    show = (_request, reply) => pages.recoveryCodes(reply, { ...form, username: 'alice', codes })
    await visit(
      async (page) => {
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('link', { name: 'Download' }).click(),
        ])
        expect(download.suggestedFilename()).toBe('recovery-codes.txt')
        expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
        await page.getByLabel('I keep these codes').check()
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.waitForURL('**/form')
        expect(posted).toEqual([{ _csrf: 'token', saved: 'true' }])
      },
      { javaScriptEnabled: false },
    )
  })
})
