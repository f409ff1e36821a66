/** What service providers are told of users who are erased, and how long their names are kept for that. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { logoutJobs } from '#server/run/background.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, newPerson } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { sender } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { addProvider, newRequestId } from '../fixture.ts'
import { logoutResponse, sloUrl, visitProvider } from './logout-fixture.ts'
import { envelope, openPeer, type Peer } from './peer.ts'

const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
const wiki = 'https://wiki.example'
const mail = 'https://mail.example'

describe.each(backends)('service providers of an erased user on $name', (backend) => {
  let ahead = 0
  const clock: Clock = { now: () => Date.now() + ahead }
  let site: OidcSite
  let peer: Peer
  beforeAll(async () => {
    site = await openIssuer(backend, { clock, env })
    peer = await openPeer()
    const signing = { signingCertificate: sender.certificate }
    await addProvider(site, { ...signing, singleLogoutServiceUrl: sloUrl })
    await addProvider(site, { entityId: wiki, name: 'Wiki', singleLogoutServiceUrl: sloUrl })
    await addProvider(site, {
      ...signing,
      entityId: mail,
      name: 'Mail',
      singleLogoutServiceSoapUrl: peer.url,
      options: { backChannelSloEnabled: true },
    })
  }, 60_000)
  afterAll(async () => {
    peer.close()
    await site.close()
  })
  beforeEach(() => {
    ahead = 0
    peer.answer = (id) => {
      const xml = logoutResponse(site, id, { issuer: mail })
      const own = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
      return { status: 200, body: envelope(signed(xml, own)) }
    }
  })

  const jobs = () => runJobs(site.server.areas.jobs, logoutJobs(site.server.areas))
  const waiting = () =>
    site.server.areas.storage.db
      .selectFrom('jobs')
      .selectAll()
      .where('queue', '=', 'logout')
      .where('state', '=', 'waiting')
      .execute()
  const namesOf = (id: string) =>
    site.server.areas.storage.db
      .selectFrom('saml_sessions')
      .selectAll()
      .where('user_id', '=', id)
      .execute()
  const visitor = async (...providers: string[]) => {
    const name = `dora-${newRequestId()}`
    const id = await addPerson(site, name)
    const person = newPerson(site)
    for (const one of providers) await visitProvider(site, person, one, name)
    return { id, person }
  }
  const eraseUser = (id: string) => site.admin('DELETE', `/users/${id}/gdpr`)

  it('keep no name of a session that had ended before', async () => {
    const { id, person } = await visitor(wiki)
    await person.submit(await person.open(`${site.issuer}/logout`), {})
    await jobs()
    expect(await namesOf(id)).toHaveLength(1)
    await eraseUser(id)
    expect(await namesOf(id)).toEqual([])
  })

  it('keep no name of a session that was idle for too long', async () => {
    const { id } = await visitor(wiki)
    ahead = 40 * 60_000
    await tidy(site.server.areas)
    ahead = 0
    expect(await namesOf(id)).toHaveLength(1)
    await eraseUser(id)
    expect(await namesOf(id)).toEqual([])
  })

  it.each([
    ['erased', '/gdpr'],
    ['deleted', ''],
  ])('keep a name until they were told as often as is tried (%s)', async (_how, path) => {
    const { id } = await visitor(mail)
    peer.answer = () => ({ status: 503, body: '' })
    await site.admin('DELETE', `/users/${id}${path}`)
    await jobs()
    await tidy(site.server.areas)
    expect(await namesOf(id)).toHaveLength(1)
    for (const hour of [1, 2, 3, 6, 10, 20, 40]) {
      ahead = hour * 3_600_000
      await jobs()
    }
    expect(await waiting()).toEqual([])
    // Before it would have expired.
    ahead = 0
    await tidy(site.server.areas)
    expect(await namesOf(id)).toEqual([])
  })

  it('are told when the user is erased, under the name that they know, which is then forgotten', async () => {
    const id = await addPerson(site, 'carol')
    const carol = newPerson(site)
    const { nameId } = await visitProvider(site, carol, mail, 'carol')
    await visitProvider(site, carol)
    await site.admin('DELETE', `/users/${id}`)
    await jobs()
    expect(peer.envelopes.at(-1)).toContain(`>${nameId}</saml:NameID>`)
    const kept = site.server.areas.storage.db.selectFrom('saml_sessions').selectAll()
    expect(await kept.where('user_id', '=', id).execute()).toEqual([])
  })
})
