/** Requests of clients that name the organization that they are for, and the claim that tells it. */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type OrganizationWorld,
  openOrganizationWorld,
} from '../sign-in/organizations/organization-world.ts'
import { password, type SignInBrowser } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { claimsOf } from './fixture.ts'

const [backend] = backends
if (!backend) throw new Error('there is no database to test on')

describe('a request for an organization', () => {
  const realm = 'shop'
  const redirectUri = 'https://app.example/cb'
  const verifier = 'v'.repeat(43)
  let world: OrganizationWorld
  let secret: string

  beforeAll(async () => {
    world = await openOrganizationWorld(backend)
    const client = { grantTypes: ['authorization_code', 'refresh_token'] }
    const made = await world.must('POST', '/clients', {
      ...client,
      clientId: 'web',
      redirectUris: [redirectUri],
      scopes: ['organization'],
    })
    secret = made.secret
    await world.must('POST', '/clients', {
      ...client,
      clientId: 'plain',
      redirectUris: [redirectUri],
    })
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'organization' }])
    const userId = await world.addUser('kim')
    for (const alias of ['north', 'south'])
      await world.must(
        'PUT',
        `/organizations/${await world.addOrganization(alias)}/members/${userId}`,
      )
  })
  afterAll(() => world.close())

  const authorize = (browser: SignInBrowser, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      client_id: 'web',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid organization',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    })
    return browser.open(`/realms/${realm}/authorize?${query}`)
  }

  /** What the client is told in the end. */
  const answerOf = ({ page, path }: SignInBrowser): URLSearchParams =>
    new URL(page?.location ?? path, 'https://none').searchParams

  const token = async (form: Record<string, string>): Promise<Record<string, string>> => {
    const response = await fetch(`${world.server.baseUrl}/realms/${realm}/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'web', client_secret: secret, ...form }),
    })
    return (await response.json()) as Record<string, string>
  }

  const redeem = (browser: SignInBrowser) =>
    token({
      grant_type: 'authorization_code',
      code: answerOf(browser).get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })

  /** The claim in the access token, the id token and userinfo. */
  const told = async (tokens: Record<string, string>) => {
    const access = tokens['access_token'] ?? ''
    const userinfo = await fetch(`${world.server.baseUrl}/realms/${realm}/userinfo`, {
      headers: { authorization: `Bearer ${access}` },
    })
    const all = [claimsOf(access), claimsOf(tokens['id_token'] ?? ''), await userinfo.json()]
    return all.map((claims) => (claims as Record<string, { alias: string }>)['organization']?.alias)
  }
  const three = (alias: string) => [alias, alias, alias]

  it('is not asked which, and the tokens of each grant stay with its own', async () => {
    const browser = world.browser()
    await browser.open(
      (await authorize(browser, { scope: 'openid organization:south' })).location ?? '',
    )
    await browser.submit({ username: 'kim', password })
    const south = await redeem(browser)
    expect(await told(south)).toEqual(three('south'))
    expect(south['scope']?.split(' ').sort()).toEqual(['openid', 'organization'])
    await authorize(browser, { organization: 'north' })
    expect(await told(await redeem(browser))).toEqual(three('north'))
    const refresh = { grant_type: 'refresh_token', refresh_token: south['refresh_token'] ?? '' }
    expect(await told(await token(refresh))).toEqual(three('south'))
    // One that names none is for that of the session.
    await authorize(browser)
    expect(await told(await redeem(browser))).toEqual(three('south'))
  })

  it('is refused where the user is no member, the same as where there is no such thing', async () => {
    const browser = world.browser()
    for (const alias of ['acme', 'nowhere']) {
      const { location } = await authorize(browser, { organization: alias })
      await browser.open(location ?? '')
      await browser.submit({ username: 'kim', password })
      // The flow asks which of the user's own, as nothing that was asked for is.
      const [, id = ''] = /name="organization" value="([^"]+)"/.exec(browser.page?.body ?? '') ?? []
      await browser.submit({ organization: id })
      expect(answerOf(browser).get('error')).toBe('access_denied')
      const silent = await authorize(browser, { organization: alias, prompt: 'none' })
      expect(silent.location).toContain('error=login_required')
    }
  })

  it('names one only, and takes the scope', async () => {
    const browser = world.browser()
    await authorize(browser, { scope: 'openid organization:north organization:south' })
    expect(answerOf(browser).get('error')).toBe('invalid_request')
    await authorize(browser, { client_id: 'plain', scope: 'openid organization:north' })
    expect(answerOf(browser).get('error')).toBe('invalid_scope')
  })
})
