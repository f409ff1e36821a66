/** Answers and logouts of identity providers count once at all nodes together; a trip ends at any node. */

import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, TestBrowser } from '../sign-in/fixture.ts'
import { type Backend, backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { sender } from '../xml/keys.ts'
import { idp, now, sp } from './saml/answers.ts'
import { answering, answerTo, openSamlSite, posted, type SamlSite } from './saml/fixture.ts'
import { type Broker, openBrokerRealm } from './trips.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** A second node with the address of the first in front; a database file has one process. */
const openOther = async (
  backend: Backend,
  { url, baseUrl, ...one }: TestServer,
  options: Parameters<typeof startServer>[1] = {},
): Promise<{ readonly urls: readonly string[]; close(): Promise<void> }> => {
  if (backend.name === 'sqlite') return { urls: [baseUrl, baseUrl], close: async () => undefined }
  const env = { ...options.env, IAMCTL_BASE_URL: baseUrl }
  const other = await startServer(backend, { ...options, url, listen: true, env })
  const urls = [one, other].map(({ app }) => {
    const { port } = app.server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  })
  return { urls, close: () => other.close() }
}

/** The same browser at other nodes: as often as it sends one request. */
const copiesOf = ({ cookies }: TestBrowser, urls: readonly string[], times = 4): TestBrowser[] =>
  Array.from({ length: times }, () => urls)
    .flat()
    .map((url) => {
      const copy = new TestBrowser(url)
      for (const [name, value] of cookies) copy.cookies.set(name, value)
      return copy
    })

const statusesOf = (answers: readonly Answer[]): number[] =>
  answers.map(({ status }) => status).sort()

const once = (accepted: number, refused: number): number[] => [
  accepted,
  ...Array.from({ length: 7 }, () => refused),
]

describe.each(backends)('an answer of an OpenID provider at two nodes on $name', (backend) => {
  let realm: Broker
  let upstream: Upstream
  let other: Awaited<ReturnType<typeof openOther>>
  beforeAll(async () => {
    realm = await openBrokerRealm(backend)
    upstream = await startUpstream()
    await realm.must('POST', '/identity-providers', {
      alias: 'corp',
      protocol: 'oidc',
      config: { issuer: upstream.issuer, clientId: 'us', clientSecret: 'a secret of the client' },
    })
    other = await openOther(backend, realm.server, {
      clock: realm.clock,
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
  }, 60_000)
  afterAll(async () => {
    await other.close()
    await upstream.close()
    await realm.close()
  })

  const leave = async (browser: TestBrowser): Promise<string> => {
    const { status, location } = await browser.get('/realms/shop/broker/corp/login')
    expect(status).toBe(303)
    return location ?? ''
  }
  const below = (address: string): string => address.replace(realm.server.baseUrl, '')
  const asked = () => upstream.requests.filter(({ path }) => path === '/token').length

  it('is accepted once, by any of them, and its code is sent once', async () => {
    const browser = new TestBrowser(other.urls[0] ?? '')
    const back = below(
      upstream.agree(await leave(browser), { sub: 'ada', email: 'ada@partner.example' }),
    )
    upstream.requests.length = 0
    const copies = copiesOf(browser, other.urls)
    const answers = await Promise.all(copies.map((one) => one.get(back)))
    expect(statusesOf(answers)).toEqual(once(303, 403))
    expect(asked()).toBe(1)
    expect(copies.filter(({ cookies }) => cookies.has('iam-session-shop'))).toHaveLength(1)
    for (const late of copiesOf(browser, other.urls, 1))
      expect((await late.get(back)).status).toBe(403)
    expect(asked()).toBe(1)
  })

  it('is used up by the node that refuses it', async () => {
    const [first = '', second = ''] = other.urls
    const browser = new TestBrowser(first)
    const back = new URL(upstream.agree(await leave(browser), { sub: 'bob' }))
    const [there] = copiesOf(browser, [second], 1)
    const denied = new URL(back)
    denied.searchParams.set('error', 'access_denied')
    expect((await there?.get(below(denied.href)))?.body).toContain('corp')
    upstream.requests.length = 0
    expect((await browser.get(below(back.href))).status).toBe(403)
    expect(asked()).toBe(0)
  })

  it('ends no trip of another browser at another node (login CSRF)', async () => {
    const [first = '', second = ''] = other.urls
    const browser = new TestBrowser(first)
    const back = below(upstream.agree(await leave(browser), { sub: 'eve' }))
    const victim = new TestBrowser(second)
    await leave(victim)
    expect((await victim.get(back)).status).toBe(403)
    expect(victim.cookies.has('iam-session-shop')).toBe(false)
  })

  it('takes a logout token once', async () => {
    const seconds = Math.floor(realm.clock.now() / 1000)
    const token = await upstream.sign({
      iss: upstream.issuer,
      aud: 'us',
      iat: seconds,
      exp: seconds + 120,
      jti: 'a logout',
      sub: 'nobody',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    const told = await Promise.all(
      copiesOf(new TestBrowser(''), other.urls).map((one) =>
        one.post('/realms/shop/broker/corp/logout', { logout_token: token }),
      ),
    )
    expect(statusesOf(told)).toEqual(once(200, 400))
  })
})

describe.each(backends)('an answer of a SAML provider at two nodes on $name', (backend) => {
  let saml: SamlSite
  let other: Awaited<ReturnType<typeof openOther>>
  beforeAll(async () => {
    const clock = { now: () => now }
    saml = await openSamlSite(backend, clock)
    other = await openOther(backend, saml.site.server, { clock })
  }, 60_000)
  afterAll(async () => {
    await other.close()
    await saml.close()
  })

  const provider = async (more: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const config = {
      spEntityId: sp,
      idpEntityId: idp,
      ssoUrl: 'https://idp.example/sso',
      idpSigningCertificate: sender.x509.toString(),
      ...more,
    }
    return (await saml.provider(config)).alias
  }
  const endpoint = (alias: string): string => `/realms/acme/broker/${alias}/endpoint`

  const left = async (alias: string) => {
    const browser = new TestBrowser(other.urls[0] ?? '')
    const { location } = await browser.get(`/realms/acme/broker/${alias}/login`)
    const asked = saml.read({ kind: 'redirect', url: location ?? '' }, 'samlp:AuthnRequest')
    return { browser, asked, form: posted(answering(asked).answer(), asked) }
  }

  it('waits once for its browser, and is accepted once, by any of them', async () => {
    const alias = await provider()
    const { browser, form } = await left(alias)
    const copies = copiesOf(browser, other.urls)
    const kept = await Promise.all(copies.map((one) => one.post(endpoint(alias), form)))
    expect(statusesOf(kept)).toEqual(once(303, 403))
    const resume = kept.find(({ status }) => status === 303)?.location ?? ''
    const answers = await Promise.all(copies.map((one) => one.get(resume)))
    // 403: no trip waits. An answer that was looked at would be refused with 400.
    expect(statusesOf(answers)).toEqual(once(303, 403))
    expect(copies.filter(({ cookies }) => cookies.has('iam-session-acme'))).toHaveLength(1)
    for (const late of copiesOf(browser, other.urls, 1)) {
      expect((await late.get(resume)).status).toBe(403)
      expect((await late.post(endpoint(alias), form)).status).toBe(403)
    }
  })

  it('is of no use in another trip, also of the same browser', async () => {
    const alias = await provider()
    const first = await left(alias)
    const second = await left(alias)
    for (const { asked, browser } of [first, second]) {
      const replayed = { ...first.form, RelayState: asked.relayState }
      const [there] = copiesOf(browser, other.urls.slice(1), 1)
      const { location } = (await there?.post(endpoint(alias), replayed)) ?? {}
      const answer = await browser.get(location ?? '')
      expect(answer.status).toBe(asked === first.asked ? 303 : 400)
    }
    expect(second.browser.cookies.has('iam-session-acme')).toBe(false)
  })

  it('that nothing asked for invites once: its assertion is known to both', async () => {
    const alias = await provider({ idpInitiatedSsoEnabled: true })
    const acs = `${saml.site.issuer}/broker/${alias}/endpoint`
    const form = posted(answerTo(acs).answer(), { relayState: 'x' })
    const bring = (times: number) =>
      Promise.all(
        copiesOf(new TestBrowser(''), other.urls, times).map((one) =>
          one.post(endpoint(alias), form),
        ),
      )
    expect(statusesOf(await bring(4))).toEqual(once(303, 400))
    expect(statusesOf(await bring(1))).toEqual([400, 400])
  })
})
