/** A real headless Chromium for the tests of pages; it is Debian's. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { ensureInstalled, installTimeout } from './debian.ts'

const executables = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const executable = (): string => {
  const found = executables.find((path) => existsSync(path))
  if (found !== undefined) return found
  const [debian = ''] = executables
  ensureInstalled({ purpose: 'the tests of pages', packages: ['chromium'], files: [debian] })
  return debian
}

export const openBrowserTimeout = installTimeout

export const openBrowser = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: executable(),
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
