/** A real headless Chromium for the tests of pages. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { pathOf } from './programs.ts'

export const openBrowser = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: pathOf('chromium'),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })

/** A passkey of the device, whose user always says yes. */
export const addVirtualAuthenticator = async (page: Page): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
