/** The outcome of a message to a user is one audit event with the channel, without content and recipient. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { runJobs } from '../support/jobs.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import { type MailPeer, mailUser, startMailPeer } from './mail-peer.ts'
import { removeProviders } from './providers.ts'

const [backend] = backends
if (!backend) throw new Error('there is no backend')

const address = 'alice@customer.example'
const code = '918273'

describe('a message to a user', () => {
  let server: TestServer
  let peer: MailPeer
  let userId: string
  let now = Date.now()
  const base = '/admin/realms/acme'

  beforeAll(async () => {
    const env = { IAMCTL_OUTGOING_ALLOW: 'localhost' }
    server = await startServer(backend, { clock: { now: () => now }, env })
    peer = await startMailPeer()
    await server.createRealm('acme')
    userId = (await server.userWith('acme', [])).userId
  })
  beforeEach(() => removeProviders(server, 'acme'))
  afterAll(async () => {
    await server.close()
    await peer.close()
  })

  const provide = (config: object): Promise<Answer> =>
    server.admin.send('PUT', `${base}/messaging/providers`, {
      channel: 'EMAIL',
      driver: 'smtp',
      fromAddress: 'no-reply@acme.example',
      config: { host: 'localhost', username: mailUser.username, ca: peer.ca, ...config },
      secret: mailUser.password,
    })
  const write = async (): Promise<void> => {
    const {
      users: { post },
      storage,
    } = server.areas
    const user = await storage.db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', userId)
      .executeTakeFirst()
    const letter = {
      channel: 'EMAIL',
      to: address,
      templateKey: 'otp-email',
      cause: { by: 'notice' },
    } as const
    const values = { code, ttl: '5' }
    await storage.commit(
      post.statements({ ...letter, realm: 'acme', user, values, expiresAt: now + 3600_000 }),
    )
  }
  const send = () => runJobs(server.areas.jobs, server.areas.users.post.handler as never)
  /** The newest first. */
  const told = async () => {
    const {
      storage,
      audit: { readRecords },
    } = server.areas
    const events = await storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('type', '=', 'SEND_MESSAGE')
      .orderBy('id', 'desc')
      .execute()
    const records = await readRecords(events)
    for (const personal of [address, code]) expect(JSON.stringify(records)).not.toContain(personal)
    return records
  }
  const event = (outcome: string, detail: unknown) => ({
    type: 'SEND_MESSAGE',
    category: 'AUTHN',
    actor: 'system',
    resourceType: 'users',
    resourceId: userId,
    outcome,
    detail,
  })

  it('that was taken is told with its template, channel and driver', async () => {
    await provide({ port: peer.port })
    await write()
    await send()
    expect(peer.mails).toHaveLength(1)
    const [last] = await told()
    expect(last).toMatchObject(event('SUCCESS', 'otp-email by EMAIL through smtp'))
  })

  it('that nothing can send is told with the reason', async () => {
    await write()
    await send()
    const [last] = await told()
    const reason = 'the realm has no messaging provider for EMAIL'
    expect(last).toMatchObject(event('FAILURE', `otp-email by EMAIL failed: ${reason}`))
  })

  it('is told once, when nothing more is tried', async () => {
    await provide({ port: 1 })
    const before = (await told()).length
    await write()
    await send()
    expect(await told()).toHaveLength(before)
    // The message has expired.
    now += 3600_000
    await send()
    const all = await told()
    expect(all).toHaveLength(before + 1)
    expect(all[0]).toMatchObject(event('FAILURE', 'otp-email by EMAIL failed: it came too late'))
  })
})
