/** Sessions at service providers, where sessions are listed and ended. */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, newPerson, type Person } from '../oidc/relying-party.ts'
import { put, remove, senderTo } from '../realm/changesets/changeset.ts'
import { backends } from '../support/backends.ts'
import { sender } from '../xml/keys.ts'
import { acsUrl, addProvider, askUrl, entityId } from './fixture.ts'
import { logoutRequest, logoutUrl, visitProvider } from './logout/logout-fixture.ts'

describe.each(backends)('sessions at service providers on $name', (backend) => {
  let site: OidcSite
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site, { signingCertificate: sender.certificate })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  }, 60_000)
  afterAll(() => site.close())

  it('are in the sessions of the realm and of the user', async () => {
    const { body } = await site.admin('GET', '/sessions')
    const own = body.filter(({ username }: { username: string }) => username === 'alice')
    expect(own.map((one: { clients: object }) => Object.values(one.clients))).toEqual([[entityId]])
    const page = await alice.open(`${site.issuer}/account/sessions`)
    expect([page.status, page.body.includes(entityId)]).toEqual([200, true])
  })

  it('are in the blast radius of a plan that changes or deletes the service provider', async () => {
    const doc = { entityId, assertionConsumerServiceUrl: acsUrl, enabled: false }
    for (const operation of [put('saml-client', entityId, doc), remove('saml-client', entityId)]) {
      const { body } = await senderTo(site.server, 'acme').apply([operation], { dryRun: true })
      expect(body.impacts).toEqual([
        expect.objectContaining({ kind: 'saml-client', key: entityId, sessions: 1 }),
      ])
    }
  })

  it('tell of a key that signs for them, also where the first message by it was not stored', async () => {
    const keys = async (): Promise<number> =>
      (await site.server.areas.storage.db.selectFrom('saml_key_uses').select('kid').execute())
        .length
    const once = askUrl(site)
    await alice.open(once)
    expect(await keys()).toBe(1)
    expect((await site.admin('POST', '/keys/rotate')).status).toBeLessThan(300)
    await alice.open(once)
    expect(await keys()).toBe(1)
    await alice.open(askUrl(site))
    expect(await keys()).toBe(2)
  })

  it('are not written again by a visit of the same session, and lead to the sign-in where it ends meanwhile', async () => {
    const { storage } = site.server.areas
    const bob = newPerson(site)
    await visitProvider(site, bob)
    const texts: string[] = []
    const append = storage.append.bind(storage)
    const spy = vi.spyOn(storage, 'append')
    try {
      spy.mockImplementation(async (statements) => {
        texts.push(...statements.map(({ sql }) => sql))
        return append(statements)
      })
      expect((await bob.open(askUrl(site))).body).toContain('SAMLResponse')
      expect(texts.filter((text) => text.includes('saml_sessions'))).toEqual([])
      const { body } = await site.admin('GET', '/sessions')
      spy.mockImplementationOnce(async (statements) => {
        for (const { id } of body as { id: string }[]) await site.admin('DELETE', `/sessions/${id}`)
        return append(statements)
      })
      const page = await bob.open(askUrl(site))
      expect([page.status, page.body.includes('SAMLResponse')]).toEqual([200, false])
      expect(new URL(page.url).pathname).toBe('/realms/acme/login')
    } finally {
      spy.mockRestore()
    }
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  })

  it('are LOGOUT events of the realm when they end, as those of OIDC are', async () => {
    const count = async (): Promise<number> => (await site.events('LOGOUT')).length
    const before = await count()
    const known = await visitProvider(site, alice)
    await alice.open(logoutUrl(site, logoutRequest(site, known)))
    expect(await count()).toBe(before + 1)
    const { body } = await site.admin('GET', '/sessions')
    expect(body.some(({ username }: { username: string }) => username === 'alice')).toBe(false)
  })
})
