/**
 * Addresses that a registration names: sector identifier, keys, logouts, logo. None leads the server anywhere but to the
 * public internet (CVE-2026-1180); what is read there counts.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReceiver, type Receiver } from '../audit/receiver.ts'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const picture = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')

describe('addresses in client metadata', () => {
  let guarded: RegistrationSite
  let inside: Server
  let reached = 0
  let port = 0
  beforeAll(async () => {
    inside = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    inside.listen(0)
    await once(inside, 'listening')
    port = (inside.address() as AddressInfo).port
    guarded = await openRegistration(backend)
  })
  afterAll(async () => {
    await guarded.close()
    inside.close()
  })

  const hosts = ['127.0.0.1', 'localhost', '[::1]', '2130706433', '10.0.0.1', '169.254.169.254']

  it.each(['sector_identifier_uri', 'jwks_uri', 'backchannel_logout_uri', 'logo_uri'])(
    '%s leads to nothing that is not public',
    async (name) => {
      const token = await guarded.initialToken()
      for (const host of hosts) {
        const { status, body } = await guarded.register(
          { ...web, [name]: `https://${host}:${port}/x` },
          token,
        )
        // A logo that cannot be had is left out.
        expect([host, status]).toEqual([host, name === 'logo_uri' ? 201 : 400])
        if (status === 400) expect(body.error).toBe('invalid_client_metadata')
      }
      expect(reached).toBe(0)
    },
  )

  it('the answer does not tell a name of the internal network from one that does not exist', async () => {
    const site = await openRegistration(backend, {
      lookup: async (host) =>
        host === 'wiki.corp.example' ? [{ address: '10.0.0.1', family: 4 }] : [],
    })
    try {
      const token = await site.initialToken()
      for (const name of ['jwks_uri', 'sector_identifier_uri', 'backchannel_logout_uri']) {
        const [inner, none] = await Promise.all(
          ['wiki.corp.example', 'none.corp.example'].map((host) =>
            site.register({ ...web, [name]: `https://${host}/x` }, token),
          ),
        )
        expect([name, inner?.status]).toEqual([name, none?.status])
        expect(inner?.body.error_description).toBe(none?.body.error_description)
      }
    } finally {
      await site.close()
    }
  })

  describe('that may be called', () => {
    let site: RegistrationSite
    let host: Receiver
    let token: string
    beforeAll(async () => {
      host = await openReceiver()
      site = await openRegistration(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
      token = await site.initialToken()
    })
    afterAll(async () => {
      await site.close()
      await host.close()
    })
    const serve = (type: string, body: unknown, status = 200) =>
      host.answer((response) =>
        response
          .writeHead(status, { 'content-type': type })
          .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)),
      )

    it('the sector identifier must list every redirect URI (OIDC Registration §5)', async () => {
      const several = ['https://one.example/cb', 'https://two.example/cb']
      const metadata = {
        redirect_uris: several,
        subject_type: 'pairwise',
        sector_identifier_uri: host.url('/sector'),
      }
      serve('application/json', several)
      const { status, body } = await site.register(metadata, token)
      expect([status, body.subject_type]).toEqual([201, 'pairwise'])
      for (const wrong of [several.slice(1), { redirect_uris: several }, 'no json']) {
        serve('application/json', wrong)
        expect((await site.register(metadata, token)).body.error).toBe('invalid_client_metadata')
      }
      serve('application/json', several, 302)
      expect((await site.register(metadata, token)).status).toBe(400)
      const { sector_identifier_uri: _, ...without } = metadata
      expect((await site.register(without, token)).body.error).toBe('invalid_client_metadata')
      // Again at an update.
      serve('application/json', several.slice(1))
      const { registration_client_uri: url, registration_access_token: own, client_id } = body
      const update = await site.manage('PUT', url, own, { ...metadata, client_id })
      expect(update.status).toBe(400)
    })

    it('a logo at another host becomes part of the client, so that no browser asks for it there', async () => {
      serve('image/svg+xml', picture)
      const { body } = await site.register({ ...web, logo_uri: host.url('/logo.svg') }, token)
      expect(body.logo_uri).toBe(host.url('/logo.svg'))
      const id = body.registration_client_uri.split('/').at(-1)
      const { logoUri } = (await site.admin('GET', `/clients/${id}`)).body
      expect(logoUri).toBe(`data:image/svg+xml;base64,${picture.toString('base64')}`)
    })

    it('a logo that is none, or too large, is left out', async () => {
      for (const [type, content] of [
        ['text/html', '<p>'],
        ['image/png', Buffer.alloc(40_000)],
      ] as const) {
        serve(type, content)
        const { status, body } = await site.register({ ...web, logo_uri: host.url('/logo') }, token)
        expect(status).toBe(201)
        const id = body.registration_client_uri.split('/').at(-1)
        expect((await site.admin('GET', `/clients/${id}`)).body.logoUri).toBeNull()
      }
    })

    it('a software statement of a trusted issuer counts before the request (RFC 7591 §2.3)', async () => {
      const issuer = 'https://vendor.example'
      const { publicKey, privateKey } = await generateKeyPair('ES256')
      serve('application/json', { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
      await site.allow({ softwareStatementIssuers: [{ issuer, jwksUri: host.url('/jwks') }] })
      const signed = (key: CryptoKey, claims: Record<string, unknown>) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(issuer)
          .setIssuedAt()
          .setExpirationTime('1h')
          .sign(key)
      const claims = { client_name: 'Vouched for', redirect_uris: ['https://vendor.example/cb'] }
      const statement = await signed(privateKey, claims)
      const good = await site.register({ ...web, software_statement: statement }, token)
      expect(good.status).toBe(201)
      // With the statement itself, unmodified (RFC 7591 §3.2.1).
      expect(good.body).toMatchObject({ ...claims, software_statement: statement })
      const { registration_client_uri: url, registration_access_token: own } = good.body
      expect((await site.manage('GET', url, own)).body.software_statement).toBe(statement)
      const forged = await signed((await generateKeyPair('ES256')).privateKey, claims)
      const bad = await site.register({ ...web, software_statement: forged }, token)
      expect([bad.status, bad.body.error]).toEqual([400, 'invalid_software_statement'])
    })

    it('a client with a software statement is updated with one for the same software alone', async () => {
      const issuers = ['https://vendor.example', 'https://other.example']
      const { publicKey, privateKey } = await generateKeyPair('ES256')
      serve('application/json', { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
      const trust = (trusted: readonly string[]) =>
        site.allow({
          softwareStatementIssuers: trusted.map((issuer) => ({ issuer, jwksUri: host.url('/k') })),
        })
      await trust(issuers)
      const signed = (claims: object, [issuer = ''] = issuers, expires = '1h') =>
        new SignJWT({ redirect_uris: ['https://vendor.example/cb'], ...claims })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(issuer)
          .setExpirationTime(expires)
          .sign(privateKey)
      const software = { client_name: 'Vouched for', software_id: 'vendor-1' }
      const made = await site.register(
        { ...web, software_statement: await signed(software) },
        token,
      )
      const { registration_client_uri: url, client_id } = made.body
      let own: string = made.body.registration_access_token
      const update = async (fields: object) => {
        const answer = await site.manage('PUT', url, own, { ...web, client_id, ...fields })
        own = answer.body.registration_access_token ?? own
        return [answer.status, answer.body.error ?? answer.body.client_name]
      }
      const refused = [400, 'invalid_software_statement']
      expect(await update({})).toEqual(refused)
      expect(await update({ software_statement: null, software_id: 'vendor-1' })).toEqual(refused)
      for (const statement of [
        await signed({ ...software, software_id: 'vendor-2' }),
        await signed({ client_name: 'Vouched for' }),
        await signed(software, issuers.slice(1)),
        await signed(software, issuers, '-1h'),
      ])
        expect(await update({ software_statement: statement })).toEqual(refused)
      expect((await site.manage('GET', url, own)).body.client_name).toBe('Vouched for')
      const newer = await signed({ ...software, client_name: 'Renamed' })
      expect(await update({ software_statement: newer, client_name: 'x' })).toEqual([
        200,
        'Renamed',
      ])
      await trust(issuers.slice(1))
      expect(await update({ software_statement: newer })).toEqual([
        400,
        'unapproved_software_statement',
      ])
    })
  })
})
