/** Names of users at service providers: who a NameID may speak for, what it survives, and values that are only text. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, newPerson, password } from '../oidc/relying-party.ts'
import { put, remove, senderTo } from '../realm/changesets/changeset.ts'
import { backends } from '../support/backends.ts'
import {
  addProvider,
  askUrl,
  entityId,
  providerPath,
  sentOf,
  statusOf,
  verifiedOf,
} from './fixture.ts'

const renamed = 'https://renamed.example/metadata'

describe.each(backends)('names of users at service providers on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site)
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  const told = async (username: string, issuer = entityId) =>
    verifiedOf(site, await newPerson(site).signIn(askUrl(site, { issuer }), username))

  it('stay the same when the user and the service provider are renamed', async () => {
    const { nameId, format } = await told('alice')
    expect(format).toBe('persistent')
    await change(site, '/users/alice', { username: 'alicia' })
    expect((await told('alicia')).nameId).toBe(nameId)
    const { apply } = senderTo(site.server, 'acme')
    const doc = { entityId: renamed, assertionConsumerServiceUrl: 'https://sp.example/acs' }
    const moved = { ...put('saml-client', renamed, doc), op: 'rename' as const, from: entityId }
    const { status, body } = await apply([moved], { takeOver: true })
    expect([status, JSON.stringify(body)]).toEqual([200, expect.any(String)])
    expect((await told('alicia', renamed)).nameId).toBe(nameId)
  })

  it('stay the same when the realm is exported and imported again', async () => {
    await addPerson(site, 'bob')
    await addProvider(site)
    const { nameId } = await told('bob')
    const { body: exported } = await site.admin('GET', '/export?users=all&ids=true')
    await change(site, providerPath(), { name: 'Changed since' })
    expect((await site.admin('POST', '/import', exported)).status).toBe(200)
    expect((await told('bob')).nameId).toBe(nameId)
    // Also where nothing is remembered of what was told before.
    await site.server.areas.storage.append([{ sql: 'delete from saml_name_ids', parameters: [] }])
    expect((await told('bob')).nameId).toBe(nameId)
  })

  it('are addresses only of users whom the realm vouches for', async () => {
    const mail = { entityId: 'https://mail.example', options: { nameIdFormat: 'email' } }
    await addProvider(site, mail)
    const ask = async (username: string) =>
      sentOf(await newPerson(site).signIn(askUrl(site, { issuer: mail.entityId }), username))
    await addPerson(site, 'carol')
    expect(statusOf(await ask('carol'))).toBe('Requester/InvalidNameIDPolicy')
    await change(site, '/users/carol', { emailVerified: true })
    expect((await told('carol', mail.entityId)).nameId).toBe('carol@acme.example')
    // A file declares the user, who cannot change the address.
    const { apply } = senderTo(site.server, 'acme')
    const dave = { username: 'dave', email: 'dave@acme.example' }
    const secrets = { '/initialPassword': password }
    expect((await apply([put('user', 'dave', dave, { secrets })])).status).toBe(200)
    expect((await told('dave', mail.entityId)).nameId).toBe('dave@acme.example')
  })

  it('and attributes are text, whatever it holds (GHSA-34r5-q4jw-r36m)', async () => {
    const hostile = {
      firstName: '</saml:AttributeValue></saml:Attribute><saml:Attribute Name="role">',
      lastName: `"'<!--&amp;]]>\u00e9\u{1f600}`,
    }
    await addPerson(site, 'eve')
    await change(site, '/users/eve', hostile)
    await addProvider(site, { entityId: 'https://text.example' })
    const { attributes } = await told('eve', 'https://text.example')
    expect(attributes).toMatchObject({
      firstName: [hostile.firstName],
      lastName: [hostile.lastName],
    })
    expect(Object.keys(attributes)).not.toContain('role')
  })

  it('do not keep a user from signing in where an attribute cannot be written in XML', async () => {
    const entityId = 'https://odd.example'
    await addPerson(site, 'mallory')
    await change(site, '/users/mallory', { attributes: { note: ['a\u0001b\ufffe', 'c'] } })
    await addProvider(site, { entityId })
    await site.admin('POST', `${providerPath(entityId)}/mappers`, {
      name: 'note',
      protocolMapper: 'saml-user-attribute-mapper',
      config: { 'attribute.name': 'note', 'user.attribute': 'note' },
    })
    const { attributes } = await told('mallory', entityId)
    expect(attributes).toEqual({ note: ['a\ufffdb\ufffd', 'c'] })
  })

  it('are counted in the blast radius of a service provider that goes or is disabled', async () => {
    const counted = { entityId: 'https://counted.example' }
    await addProvider(site, counted)
    await told('alicia', counted.entityId)
    await told('alicia', counted.entityId)
    const { apply } = senderTo(site.server, 'acme')
    const doc = { ...counted, assertionConsumerServiceUrl: 'https://sp.example/acs' }
    for (const operation of [
      remove('saml-client', counted.entityId),
      put('saml-client', counted.entityId, { ...doc, enabled: false }),
    ]) {
      const { status, body } = await apply([operation], { dryRun: true })
      expect([status, body.impacts]).toMatchObject([
        200,
        [{ kind: 'saml-client', key: counted.entityId, sessions: 2 }],
      ])
    }
    const { status } = await site.server.admin.send(
      'GET',
      `/admin/realms/acme${providerPath(counted.entityId)}`,
    )
    expect(status).toBe(200)
  })

  it('stay the same when the realm is deleted and imported again from an export with ids', async () => {
    const again = 'https://again.example'
    const before = await addPerson(site, 'frank')
    await addProvider(site, { entityId: again })
    const { nameId } = await told('frank', again)
    const { body: exported } = await site.admin('GET', '/export?users=all&ids=true')
    const { send } = site.server.admin
    const madeAgain = async (from: object): Promise<string> => {
      await send('DELETE', '/admin/realms/acme')
      await send('POST', '/admin/realms', { realm: 'acme' })
      await site.admin('POST', '/import', from)
      const { body } = await site.admin('GET', '/users/frank')
      const value = { type: 'password', value: password }
      await site.admin('POST', `/users/${body.userId}/credentials`, value)
      return body.userId
    }
    expect(await madeAgain(exported)).toBe(before)
    expect((await told('frank', again)).nameId).toBe(nameId)
    // An id that another user has is not given a second time.
    const other = await addPerson(site, 'grace')
    const forged = structuredClone(exported)
    delete forged.meta.unmanagedUsers.frank
    forged.meta.unmanagedUsers.heidi = { id: other }
    forged.users.push({ username: 'heidi' })
    await site.admin('POST', '/import', forged)
    const { body: heidi } = await site.admin('GET', '/users/heidi')
    expect(heidi.userId).not.toBe(other)
    expect((await site.admin('GET', '/users/grace')).body.userId).toBe(other)
  })
})
