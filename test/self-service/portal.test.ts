/** The portal of the account: the applications of a realm, and where each starts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../sign-in/world.ts'
import { anyBackend } from '../support/backends.ts'
import { type Person, personOf } from './person.ts'

const page = '/realms/shop/account/applications'
const entityId = 'https://wiki.example/saml'

describe.each(anyBackend)('the applications of the portal on $name', (backend) => {
  let world: World
  let ann: Person

  beforeAll(async () => {
    world = await openWorld(backend)
    ann = await personOf(world, await world.addUser('ann'))
    await world.must('POST', '/clients', { clientId: 'maps' })
    await world.must('POST', '/saml-clients', {
      entityId,
      assertionConsumerServiceUrl: 'https://wiki.example/acs',
      options: { idpInitiatedSsoEnabled: true },
    })
    for (const application of [
      {
        name: 'maps',
        displayName: 'Maps <b>& more</b>',
        clientId: 'maps',
        homepageUrl: 'https://maps.example/?a=1&b=2',
        iconUrl: 'https://cdn.example/maps.png',
      },
      { name: 'wiki', displayName: 'Handbook', type: 'SAML', entityId },
      { name: 'canteen' },
      { name: 'secret', displayName: 'Not yet', enabled: false },
    ])
      await world.must('POST', '/applications', application)
  })
  afterAll(() => world?.close())

  const listed = async () => (await ann.api('GET', '/applications')).body
  const names = async (): Promise<string[]> =>
    (await listed()).map(({ name }: { name: string }) => name)

  it('are listed by the name that users see, with the address where each starts', async () => {
    expect(await listed()).toEqual([
      { name: 'canteen', displayName: 'canteen', iconUrl: null, url: null },
      {
        name: 'wiki',
        displayName: 'Handbook',
        iconUrl: null,
        url: `${world.server.baseUrl}/realms/shop/saml/idp/initiate?entityId=${encodeURIComponent(entityId)}`,
      },
      {
        name: 'maps',
        displayName: 'Maps <b>& more</b>',
        iconUrl: 'https://cdn.example/maps.png',
        url: 'https://maps.example/?a=1&b=2',
      },
    ])
  })

  it('are links on the page, whose policy lets their pictures in and whose text is escaped', async () => {
    const { body, headers } = await ann.browser.open(page)
    expect(body).toContain('<a href="https://maps.example/?a=1&amp;b=2">')
    expect(body).toContain('<img src="https://cdn.example/maps.png" alt="">')
    expect(body).toContain('<bdi>Maps &lt;b&gt;&amp; more&lt;/b&gt;</bdi>')
    expect(body).toContain('<bdi>canteen</bdi>')
    expect(body).not.toContain('Not yet')
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("img-src 'self' data: https://cdn.example;")
  })

  it('of SAML start at the identity provider, which asks the user to go on', async () => {
    const { url } = (await listed())[1]
    const started = await ann.browser.get(new URL(url).pathname + new URL(url).search)
    const next = started.location ? await ann.browser.open(started.location) : started
    expect(next.body).toContain(entityId)
  })

  it('of a client that is disabled are not shown', async () => {
    const client = await world.must('GET', '/clients/maps')
    await world.must('PUT', '/clients/maps', { ...client, enabled: false })
    expect(await names()).toEqual(['canteen', 'wiki'])
    await world.must('PUT', '/clients/maps', { ...client, enabled: true })
    const provider = await world.must('GET', `/saml-clients/${encodeURIComponent(entityId)}`)
    await world.must('PUT', `/saml-clients/${encodeURIComponent(entityId)}`, {
      ...provider,
      enabled: false,
    })
    expect(await names()).toEqual(['canteen', 'maps'])
  })

  it('are for users of the realm alone', async () => {
    const { status } = await fetch(`${world.server.baseUrl}${page}`)
    expect(status).toBe(401)
  })
})
