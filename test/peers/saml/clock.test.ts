/** The clock of the machine jumps an hour while the built server runs (libfaketime): assertions keep a life of minutes. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newPerson, password } from '../../oidc/relying-party.ts'
import { acsUrl, askUrl, certificatesOf, entityId, only, sentOf } from '../../saml/fixture.ts'
import { brokenRules, lifetimesOf } from '../../saml/times/lifetimes.ts'
import { backends } from '../../support/backends.ts'
import { pathOf } from '../../support/processes/programs/programs.ts'
import {
  newInstallation,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'
import { openJudges } from './judges.ts'

const hour = 3600

describe.each(backends)('a clock that jumps, on $name', (backend) => {
  it('leaves no assertion with a negative or endless life, and no metadata that has ended', async () => {
    const clock = join(temporaryFolder(), 'clock')
    const jumpTo = (seconds: number): void =>
      writeFileSync(clock, seconds < 0 ? `${seconds}` : `+${seconds}`)
    jumpTo(0)
    const installation = await newInstallation(backend)
    const server = await startServerProcess({
      ...installation,
      env: {
        ...installation.env,
        LD_PRELOAD: pathOf('faketime'),
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        // Timers would stand still for as long as the clock went back.
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    })
    const admin = await server.admin()
    const must = async (method: string, path: string, body?: unknown) => {
      const answer = await admin.send(method, path, body)
      if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
      return answer.body
    }
    await must('POST', '/admin/realms', { realm: 'acme' })
    await must('POST', '/admin/realms/acme/saml-clients', {
      entityId,
      assertionConsumerServiceUrl: acsUrl,
    })
    const { userId } = await must('POST', '/admin/realms/acme/users', { username: 'alice' })
    await must('PUT', `/admin/realms/acme/users/${userId}/password`, { newPassword: password })
    const { ssoSessionMaxLifespan } = await must('GET', '/admin/realms/acme/settings')

    const site = { issuer: `${server.url}/realms/acme`, server: { baseUrl: server.url } }
    const judges = openJudges()
    const alice = newPerson(site)
    for (const offset of [0, hour, 0, -hour, 0, hour]) {
      jumpTo(offset)
      const now = Date.now() + offset * 1000
      const { response, xml } = sentOf(await alice.signIn(askUrl(site, { at: now })))
      const metadata = await (await fetch(`${site.issuer}/saml/idp/metadata`)).text()
      expect(judges.signedIn(xml, certificatesOf(metadata))).toEqual(['Response', 'Assertion'])
      const lifetimes = lifetimesOf(only(response, 'saml:Assertion'))
      const expected = { now, sessionMs: ssoSessionMaxLifespan * 1000 }
      expect([offset, brokenRules(lifetimes, expected)]).toEqual([offset, []])
      const [, validUntil = ''] = /validUntil="([^"]*)"/.exec(metadata) ?? []
      expect(Date.parse(validUntil)).toBeGreaterThan(now)
    }
    judges.close()
    await server.stop()
  })
})
