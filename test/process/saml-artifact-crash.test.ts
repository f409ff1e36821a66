/** The server is killed while service providers resolve artifacts: none that was given is given again (SAML Core §3.5.3). */

import { describe, expect, it } from 'vitest'
import { askUrl, entityId, newRequestId, spaces } from '../saml/fixture.ts'
import { backends } from '../support/backends.ts'
import { signIn } from '../support/processes/browserless.ts'
import { newInstallation, startServerProcess } from '../support/processes/server-process.ts'
import { isLong, randomFrom, seed } from '../support/run/chance.ts'
import { sender } from '../xml/keys.ts'
import { signed } from '../xml/messages.ts'

const kills = isLong ? 10 : 2
const artifacts = 24
const password = 'alice and her artifacts 7'
/** The same at every start: an artifact names its issuer. */
const baseUrl = 'http://iam.example'
const binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact'

const resolve = async (url: string, artifact: string): Promise<boolean | undefined> => {
  const id = newRequestId()
  const xml = `<samlp:ArtifactResolve ${spaces} ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}"><saml:Issuer>${entityId}</saml:Issuer><samlp:Artifact>${artifact}</samlp:Artifact></samlp:ArtifactResolve>`
  try {
    const answer = await fetch(`${url}/realms/acme/saml/idp/artifact`, {
      method: 'POST',
      headers: { 'content-type': 'text/xml' },
      body: `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${signed(xml, id)}</s:Body></s:Envelope>`,
    })
    const body = await answer.text()
    expect(answer.status, body).toBe(200)
    return body.includes('<samlp:Response ')
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

describe.each(backends)(
  'a server that is killed while artifacts are resolved ($name)',
  (backend) => {
    it(`gives none twice, ${kills} times`, { timeout: 10 * 60_000 }, async () => {
      const random = randomFrom(seed)
      const { env, ...installation } = await newInstallation(backend)
      const start = () =>
        startServerProcess({ ...installation, env: { ...env, IAMCTL_BASE_URL: baseUrl } })
      let server = await start()
      const admin = await server.admin()
      const acme = '/admin/realms/acme'
      await admin.send('POST', '/admin/realms', { realm: 'acme' })
      await admin.send('POST', `${acme}/saml-clients`, {
        entityId,
        assertionConsumerServiceUrl: 'https://sp.example/artifact',
        acs: [{ index: 0, url: 'https://sp.example/artifact', binding: 'HTTP-Artifact' }],
        signingCertificate: sender.certificate,
      })
      await admin.send('POST', `${acme}/users`, { username: 'alice', email: 'a@acme.example' })
      await admin.send('PUT', `${acme}/users/alice/password`, { newPassword: password })
      const [seenBefore, seenAfter] = [{ given: 0 }, { given: 0 }]
      for (let round = 0; round < kills; round += 1) {
        const alice = await signIn(server.url, 'acme', 'alice', password)
        const made: string[] = []
        for (let n = 0; n < artifacts; n += 1) {
          const attributes = { ProtocolBinding: binding }
          const asked = new URL(askUrl({ issuer: `${baseUrl}/realms/acme` }, { attributes }))
          const { headers } = await alice.send('GET', `${asked.pathname}${asked.search}`)
          made.push(new URL(headers['location'] ?? 'none:').searchParams.get('SAMLart') ?? '')
        }
        const given = new Set<string>()
        const killAt = 1 + Math.floor(random() * (artifacts / 2))
        let killed: Promise<unknown> | undefined
        await Promise.all(
          made.map(async (artifact) => {
            if ((await resolve(server.url, artifact)) !== true) return
            given.add(artifact)
            if (given.size >= killAt) killed ??= server.kill()
          }),
        )
        await killed
        server = await start()
        for (const artifact of made) {
          const again = await resolve(server.url, artifact)
          if (given.has(artifact)) expect(again).toBe(false)
          else if (again) seenAfter.given += 1
        }
        seenBefore.given += given.size
      }
      expect(seenBefore.given).toBeGreaterThan(0)
      expect(seenBefore.given + seenAfter.given).toBeLessThanOrEqual(kills * artifacts)
      await server.stop()
    })
  },
)
