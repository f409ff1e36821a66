/** Users by SCIM: made, read, replaced, changed and deleted (RFC 7644 §3). */

import { describe, expect, it } from 'vitest'
import { enterprise, errorSchema, openSite, patchSchema, userSchema } from './sender.ts'

const site = openSite()

const barbara = {
  schemas: [userSchema, enterprise],
  externalId: '701984',
  userName: 'bjensen@example.com',
  name: {
    formatted: 'Ms. Barbara J Jensen, III',
    familyName: 'Jensen',
    givenName: 'Barbara',
    middleName: 'Jane',
    honorificPrefix: 'Ms.',
    honorificSuffix: 'III',
  },
  displayName: 'Babs Jensen',
  nickName: 'Babs',
  profileUrl: 'https://login.example.com/bjensen',
  title: 'Tour Guide',
  userType: 'Employee',
  preferredLanguage: 'en-US',
  locale: 'en-US',
  timezone: 'America/Los_Angeles',
  active: true,
  emails: [
    { value: 'bjensen@example.com', type: 'work', primary: true },
    { value: 'babs@jensen.org', type: 'home' },
  ],
  addresses: [
    {
      type: 'work',
      streetAddress: '100 Universal City Plaza',
      locality: 'Hollywood',
      primary: true,
    },
    { type: 'home', streetAddress: '456 Hollywood Blvd' },
  ],
  phoneNumbers: [
    { value: '555-555-5555', type: 'work' },
    { value: '555-555-4444', type: 'mobile' },
  ],
  ims: [{ value: 'someaimhandle', type: 'aim' }],
  photos: [{ value: 'https://photos.example.com/profilephoto/F', type: 'photo' }],
  entitlements: [{ value: 'parking' }],
  roles: [{ value: 'guide' }],
  x509Certificates: [{ value: 'MIIDQzCCAqygAwIBAgICEAAw' }],
  [enterprise]: {
    employeeNumber: '701984',
    costCenter: '4130',
    organization: 'Universal Studios',
    division: 'Theme Park',
    department: 'Tour Operations',
    manager: { value: '26118915-6090-4610-87e4-49d8ca9f808d' },
  },
}

describe('a user of the realm', () => {
  it('is created with Location, ETag and meta, and read back as it was sent (RFC 7644 §3.3)', async () => {
    const answer = await site.scim.send('POST', '/Users', barbara)
    expect(answer.status).toBe(201)
    expect(answer.headers['content-type']).toContain('application/scim+json')
    const { id, meta, [enterprise]: extension, ...rest } = answer.body
    const { [enterprise]: sent, ...core } = barbara
    expect(rest).toEqual(core)
    expect(extension).toMatchObject({ ...sent, manager: { value: sent.manager.value } })
    expect(meta).toMatchObject({ resourceType: 'User', version: answer.headers['etag'] })
    expect(answer.headers['location']).toBe(meta.location)
    expect(meta.location).toMatch(new RegExp(`/realms/acme/scim/v2/Users/${id}$`))
    const read = await site.scim.send('GET', `/Users/${id}`)
    expect([read.status, read.body]).toEqual([200, answer.body])
    const shown = await site.world.admin('GET', `/users/${id}`)
    expect(shown.body).toMatchObject({
      username: 'bjensen@example.com',
      email: 'bjensen@example.com',
      emailVerified: false,
      firstName: 'Barbara',
      lastName: 'Jensen',
      enabled: true,
    })
    expect(shown.body.attributes).toMatchObject({
      title: ['Tour Guide'],
      department: ['Tour Operations'],
      displayName: ['Babs Jensen'],
    })
  })

  it('ignores what is read-only or unknown, and never returns a password', async () => {
    const user = await site.scim.user('carla', {
      id: 'mine',
      meta: { version: 'x' },
      groups: [{ value: 'admins' }],
      favouriteColour: 'red',
      constructor: { prototype: { admin: true } },
      password: 'a long enough phrase 4711',
    })
    expect(user.id).not.toBe('mine')
    expect(Object.keys(user).sort()).toEqual(['active', 'id', 'meta', 'schemas', 'userName'])
  })

  it('holds a password to the policy of the realm', async () => {
    const body = { schemas: [userSchema], userName: 'weak', password: 'short' }
    const answer = await site.scim.send('POST', '/Users', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      schemas: [errorSchema],
      status: '400',
      scimType: 'invalidValue',
    })
    expect(answer.body.detail).toContain('password')
    expect((await site.world.admin('GET', '/users/weak')).status).toBe(404)
  })

  it('has a name once, whatever its case: 409 uniqueness (RFC 7644 §3.12)', async () => {
    await site.scim.user('Dora')
    const answer = await site.scim.send('POST', '/Users', {
      schemas: [userSchema],
      userName: 'dORA',
    })
    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ status: '409', scimType: 'uniqueness' })
  })

  it('has an externalId once for its sender, and another sender has its own', async () => {
    const other = await site.world.sender({ sender: 'other' })
    const first = await site.scim.user('ext-1', { externalId: 'e-1' })
    const again = { schemas: [userSchema], userName: 'ext-2', externalId: 'e-1' }
    expect((await site.scim.send('POST', '/Users', again)).body).toMatchObject({
      scimType: 'uniqueness',
    })
    expect((await other.send('POST', '/Users', again)).status).toBe(201)
    expect((await other.send('GET', `/Users/${first.id}`)).body.externalId).toBeUndefined()
    const rotated = await site.world.sender()
    expect((await rotated.send('GET', `/Users/${first.id}`)).body.externalId).toBe('e-1')
  })

  it('may have a name that is shaped like an id', async () => {
    const userName = '2819c223-7f76-453a-919d-413861904646'
    const user = await site.scim.user(userName)
    expect(user.userName).toBe(userName)
    const found = await site.scim.send(
      'GET',
      `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}`,
    )
    expect(found.body.Resources).toHaveLength(1)
    expect((await site.scim.send('GET', `/Users/${userName}`)).status).toBe(404)
  })

  it('is replaced as a whole by PUT, and stays deactivated unless PUT says otherwise', async () => {
    const user = await site.scim.user('eva', { title: 'Boss', externalId: 'eva-1' })
    await site.scim.patch(`/Users/${user.id}`, { op: 'replace', path: 'active', value: false })
    const body = { schemas: [userSchema], userName: 'eva', name: { givenName: 'Eva' } }
    const answer = await site.scim.send('PUT', `/Users/${user.id}`, body)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ name: { givenName: 'Eva' }, active: false })
    expect(answer.body.title).toBeUndefined()
    expect(answer.body.externalId).toBeUndefined()
    expect(
      (await site.scim.send('PUT', `/Users/${user.id}`, { schemas: [userSchema] })).status,
    ).toBe(400)
  })

  it('goes with DELETE and is gone', async () => {
    const { id } = await site.scim.user('frank')
    const gone = await site.scim.send('DELETE', `/Users/${id}`)
    expect([gone.status, gone.body]).toEqual([204, ''])
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const answer = await site.scim.send(
        method,
        `/Users/${id}`,
        method === 'PUT'
          ? { schemas: [userSchema], userName: 'x' }
          : method === 'PATCH'
            ? { schemas: [patchSchema], Operations: [{ op: 'remove', path: 'title' }] }
            : undefined,
      )
      expect([method, answer.status]).toEqual([method, 404])
      expect(answer.body.schemas).toEqual([errorSchema])
    }
  })

  it('is found by its id alone', async () => {
    await site.scim.user('gina')
    for (const id of ['gina', 'nobody', '%00', '..%2fgina', 'x'.repeat(300)])
      expect((await site.scim.send('GET', `/Users/${id}`)).status).toBe(404)
  })
})

describe('a change that changes nothing', () => {
  it('writes no event and no version, by PUT and by PATCH', async () => {
    const { id } = await site.scim.user('idle', {
      title: 'T',
      emails: [{ value: 'idle@x.example' }],
    })
    const before = await site.scim.send('GET', `/Users/${id}`)
    const events = (await site.world.events()).length
    const { id: _, meta: __, ...same } = before.body
    const put = await site.scim.send('PUT', `/Users/${id}`, same)
    const patch = await site.scim.patch(
      `/Users/${id}`,
      { op: 'replace', path: 'title', value: 'T' },
      { op: 'replace', path: 'active', value: true },
      { op: 'remove', path: 'nickName' },
    )
    expect([put.status, patch.status]).toEqual([200, 200])
    expect(put.body).toEqual(before.body)
    expect(patch.body).toEqual(before.body)
    expect((await site.world.events()).length).toBe(events)
  })

  it('is all or nothing: one bad operation leaves everything as it was', async () => {
    const { id } = await site.scim.user('atomic', { title: 'T' })
    const before = await site.scim.send('GET', `/Users/${id}`)
    const answer = await site.scim.patch(
      `/Users/${id}`,
      { op: 'replace', path: 'title', value: 'Other' },
      { op: 'replace', path: 'active', value: 0 },
    )
    expect(answer.body).toMatchObject({ status: '400', scimType: 'invalidValue' })
    expect((await site.scim.send('GET', `/Users/${id}`)).body).toEqual(before.body)
  })
})

describe('versions (RFC 7644 §3.14)', () => {
  it('refuses a change of another version with 412 and answers a known one with 304', async () => {
    const user = await site.scim.user('etag')
    const stale = user.meta.version
    const path = `/Users/${user.id}`
    expect((await site.scim.send('GET', path, undefined, { 'if-none-match': stale })).status).toBe(
      304,
    )
    const body = { schemas: [userSchema], userName: 'etag', title: 'A' }
    expect((await site.scim.send('PUT', path, body, { 'if-match': stale })).status).toBe(200)
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const given =
        method === 'PUT'
          ? { ...body, title: 'B' }
          : method === 'PATCH'
            ? { schemas: [patchSchema], Operations: [{ op: 'remove', path: 'title' }] }
            : undefined
      const answer = await site.scim.send(method, path, given, { 'if-match': stale })
      expect([method, answer.status]).toEqual([method, 412])
    }
    expect((await site.scim.send('DELETE', path, undefined, { 'if-match': '*' })).status).toBe(204)
  })
})

describe('the export of personal data', () => {
  it('names the senders that know the person', async () => {
    const { id } = await site.scim.user('exported', { externalId: 'e-4711' })
    const { federatedLinks } = (await site.world.admin('GET', `/users/${id}/gdpr/export`)).body
    expect(federatedLinks).toEqual([{ scimSender: 'default', externalId: 'e-4711' }])
  })
})

describe('audit', () => {
  it('has one event for every write, and names the sender', async () => {
    const { id } = await site.scim.user('audited')
    await site.scim.patch(`/Users/${id}`, { op: 'add', path: 'title', value: 'x' })
    await site.scim.send('DELETE', `/Users/${id}`)
    const own = (await site.world.events()).filter(({ resourceId }) => resourceId === id)
    expect(own.map(({ type, actor }) => `${type} ${actor}`)).toEqual([
      'ADMIN_DELETE scim:default',
      'ADMIN_UPDATE scim:default',
      'ADMIN_CREATE scim:default',
    ])
    expect(own[0].detail).toContain(site.scim.tokenId)
  })
})
