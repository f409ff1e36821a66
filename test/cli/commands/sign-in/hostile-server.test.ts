/** `iamctl login` at a server that names addresses which a desktop would open with a program (CVE-2025-6514). */
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { newHome } from '../../../support/processes/cli.ts'
import { fakeBrowser } from './fixture.ts'

/** Says what it is told to: of itself, and of where a device code is confirmed. */
const startHostile = async (issuerOf: (own: string) => string, verification: string) => {
  const server = createServer((request, response) => {
    const issuer = issuerOf(`http://${request.headers.host}/realms/master`)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify(
        request.url?.endsWith('openid-configuration')
          ? {
              issuer,
              authorization_endpoint: `${issuer}/authorize`,
              token_endpoint: `${issuer}/token`,
              device_authorization_endpoint: `${issuer}/device_authorization`,
            }
          : { device_code: 'd', user_code: 'u', verification_uri: verification, expires_in: 5 },
      ),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const web = 'https://web.example'

it.each([
  ['the issuer', 'file://host/share/x.exe#/realms/master', web, []],
  ['the issuer', 'ms-settings:x/realms/master', web, ['--device']],
  ['the issuer', 'https://user@host/realms/master', web, []],
  ['the address for a device', undefined, 'file:///bin/sh', ['--device']],
])('%s is refused and not opened: %s, %s', async (_what, issuer, verification, flags) => {
  const url = await startHostile((own) => issuer ?? own, verification)
  const home = newHome({ IAMCTL_SERVER: url })
  onTestFinished(home.remove)
  const env = { BROWSER: fakeBrowser(home).command }
  const { code, stderr } = await home.run(['login', ...flags], { env })
  expect(stderr).toContain('which is none of the web; nothing was opened')
  expect(code).not.toBe(0)
  expect(existsSync(join(home.folder, 'url'))).toBe(false)
})
