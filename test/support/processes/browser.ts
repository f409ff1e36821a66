/** A real headless Chromium for the tests of pages. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { pathOf } from './programs/programs.ts'

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

export interface VirtualAuthenticator {
  /** Whether the virtual authenticator approves every request by itself, the autofill of a page included. */
  setPresent(present: boolean): Promise<void>
  /** Whether it recognises the finger, the face or the PIN of its user. */
  setVerified(verified: boolean): Promise<void>
}

/** A passkey of the device, whose user says yes until told otherwise. */
export const addVirtualAuthenticator = async (page: Page): Promise<VirtualAuthenticator> => {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    setPresent: async (enabled) => {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    setVerified: async (isUserVerified) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
  }
}
