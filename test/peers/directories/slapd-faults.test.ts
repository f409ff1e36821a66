/** OpenLDAP that is busy, unavailable, limited or hides its users: a sync changes nothing. And what needs no directory at all. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DirectorySite, openDirectorySite, realmOf } from '../../directories/people.ts'
import { backends } from '../../support/backends.ts'
import {
  type Slapd,
  startSlapd,
  suffix,
  treeLdif,
  userLdif,
} from '../../support/processes/programs/slapd.ts'

/** One is enough: the software of others is what matters. */
const tried = backends.slice(-1)

const people = `ou=people,${suffix}`
const secret = 'a secret of the user 1'
const passwordOf = (cn: string): string => `the password of ${cn}`
const names = Array.from({ length: 700 }, (_, i) => `user${String(i).padStart(4, '0')}`)

const crowdBase = `ou=crowd,${suffix}`
const crowd = Array.from({ length: 5000 }, (_, i) => `member${String(i).padStart(4, '0')}`)

const bindUsers = ['reader', 'limited', 'blind']
const dnOf = (cn: string): string => `cn=${cn},${suffix}`
const bindUserLdif = (cn: string): string =>
  [
    `dn: ${dnOf(cn)}`,
    'objectClass: organizationalRole',
    'objectClass: simpleSecurityObject',
    `cn: ${cn}`,
    `userPassword: ${passwordOf(cn)}`,
    '',
    '',
  ].join('\n')

describe.each(tried)('OpenLDAP that cannot be trusted, and the realm on $name', (backend) => {
  let slapd: Slapd
  let it_: DirectorySite
  beforeAll(async () => {
    slapd = await startSlapd({
      modules: ['retcode'],
      lines: [
        // The first page is given, the second only in part.
        `limits dn.exact="${dnOf('limited')}" size.soft=500 size.hard=500 size.pr=500 size.prtotal=600`,
        `limits users size.soft=500 size.hard=500 size.pr=500 size.prtotal=unlimited`,
        'access to attrs=userPassword by anonymous auth by * none',
        // The base can be read, and nothing below it.
        `access to dn.exact="${people}" by users read by anonymous auth`,
        `access to dn.subtree="${people}" by dn.exact="${dnOf('blind')}" none by users read by anonymous auth`,
        'access to * by users read by anonymous auth',
        'overlay retcode',
        `retcode-parent "ou=faults,${suffix}"`,
        'retcode-item "cn=busy" 51',
        'retcode-item "cn=unavailable" 52',
        'retcode-item "cn=unwilling" 53',
      ],
      ldif: [
        treeLdif,
        ...bindUsers.slice(1).map(bindUserLdif),
        userLdif('ada', secret),
        ...names.map((uid) => userLdif(uid)),
        `dn: ${crowdBase}\nobjectClass: organizationalUnit\nou: crowd\n\n`,
        ...crowd.map((uid) => userLdif(uid).replace(people, crowdBase)),
        [
          `dn: cn=everyone,${crowdBase}`,
          'objectClass: groupOfNames',
          'cn: everyone',
          ...crowd.map((uid) => `member: uid=${uid},${crowdBase}`),
          '',
          '',
        ].join('\n'),
      ].join(''),
    })
    it_ = await openDirectorySite(backend)
    await provide('reader')
    expect((await sync()).body).toMatchObject({ added: 701, failed: 0 })
  })
  afterAll(async () => {
    await it_?.close()
    await slapd?.close()
  })

  const provide = (as: string, more: object = {}, alias = 'corp') =>
    it_.provide(
      {
        url: slapd.url,
        bindDn: dnOf(as),
        bindPassword: passwordOf(as === 'reader' ? 'the reader' : as),
        userSearchBase: people,
        ...more,
      },
      { alias },
    )
  const sync = (query = '', alias = 'corp') =>
    it_.site.server.admin.send(
      'POST',
      `/admin/realms/${realmOf(it_.site)}/user-federation/${alias}/sync${query}`,
    )
  const stored = async (): Promise<string> => {
    const { db } = it_.site.server.areas.storage
    return JSON.stringify([
      await db.selectFrom('users').selectAll().orderBy('id').execute(),
      await db.selectFrom('federated_links').selectAll().orderBy('id').execute(),
    ])
  }

  it.each([
    ['is busy', 'reader', { userSearchBase: `cn=busy,ou=faults,${suffix}` }, 'result code 51'],
    [
      'is unavailable',
      'reader',
      { userSearchBase: `cn=unavailable,ou=faults,${suffix}` },
      'result code 52',
    ],
    [
      'refuses the search',
      'reader',
      { userSearchBase: `cn=unwilling,ou=faults,${suffix}` },
      'result code 53',
    ],
    ['gives a page and then its size limit', 'limited', {}, 'limit of the directory was reached'],
    ['hides the users and answers with success and no entry', 'blind', {}, 'finds no user'],
    ['has no such base', 'reader', { userSearchBase: `ou=nowhere,${suffix}` }, 'result code 32'],
  ])('changes nothing where it %s', async (_name, as, more, reason) => {
    const before = await stored()
    await provide(as, more)
    for (const query of ['', '?full=true', '?dryRun=true']) {
      const { status, body } = await sync(query)
      expect([status, body.detail]).toEqual([503, expect.stringContaining(reason)])
    }
    expect(await stored()).toBe(before)
    await provide('reader')
    expect((await sync('?full=true')).body).toMatchObject({ added: 0, updated: 0, removed: 0 })
    expect(await stored()).toBe(before)
  })

  it('has a group of 5,000, which is filled at once and followed by a member who leaves', async () => {
    await provide('reader', { userSearchBase: crowdBase, groupSearchBase: crowdBase }, 'crowd')
    const { body } = await sync('', 'crowd')
    expect(body).toMatchObject({ added: 5000, failed: 0 })
    expect(body.groups).toEqual({ added: 1, updated: 0, removed: 0, joined: 5000, left: 0 })
    await slapd.modify(
      [
        `dn: cn=everyone,${crowdBase}`,
        'changetype: modify',
        'delete: member',
        `member: uid=member0042,${crowdBase}`,
        '',
      ].join('\n'),
    )
    const next = await sync('', 'crowd')
    expect(next.body).toMatchObject({ mode: 'changes', updated: 0, removed: 0 })
    expect(next.body.groups).toMatchObject({ joined: 0, left: 1 })
  })

  it('is asked nothing for lists, searches, refreshed tokens and userinfo of its users', async () => {
    const client = await it_.site.client({
      clientId: 'app',
      grantTypes: ['password', 'refresh_token'],
      scopes: ['email'],
    })
    const token = (fields: Record<string, string>) =>
      it_.site.post('/token', {
        client_id: client.clientId,
        client_secret: client.secret,
        ...fields,
      })
    const first = await token({
      grant_type: 'password',
      username: 'ada',
      password: secret,
      scope: 'openid email',
    })
    expect(first.status).toBe(200)
    const asked = (): number => slapd.log().match(/ (?:SRCH|BIND|CMP) /g)?.length ?? 0
    const before = asked()
    expect(before).toBeGreaterThan(0)
    const listed = await it_.site.admin('GET', '/users?max=1000')
    expect(listed.body.length).toBeGreaterThan(700)
    expect((await it_.site.admin('GET', '/users?search=user0')).body.length).toBeGreaterThan(0)
    const next = await token({
      grant_type: 'refresh_token',
      refresh_token: first.body.refresh_token,
    })
    expect(next.status).toBe(200)
    const authorization = `Bearer ${next.body.access_token}`
    expect((await it_.site.get('/userinfo', { authorization })).body).toMatchObject({
      email: 'ada@corp.example',
    })
    expect(asked()).toBe(before)
  })
})
