/**
 * A client whose service account holds more than the caller is nothing that the caller may change. So the caller may not end what
 * was issued to it either, give it tokens again, or find out its secret by guesses (CVE-2026-3121).
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'

const base = '/admin/realms/acme'
const secret = 'the secret of a client that administers the realm'
const docOf = (clientId: string) => ({
  clientId,
  serviceAccountsEnabled: true,
  grantTypes: ['client_credentials'],
})
const wrong = 'a guess at the secret of a client, which is wrong'

describe.each(backends)('a client that holds more than the caller on $name', (backend) => {
  let server: TestServer
  let manager: Client
  let strongKey: string

  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await server.admin.send(method, `${base}${path}`, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    manager = await server.userWith('acme', ['manage-clients', 'view-clients'])
    for (const clientId of ['strong', 'weak']) {
      await must('POST', '/clients', { ...docOf(clientId), secret })
      await must('POST', '/agents', { name: `agent-${clientId}`, clientId })
      for (const _ of [1, 2]) await must('POST', `/clients/${clientId}/keys/rotate?fresh=true`)
    }
    await must('POST', '/clients/strong/service-account/roles', { name: 'admin' })
    for (const clientId of ['strong', 'weak'])
      await must('POST', '/changesets', await changesetOf(clientId, secret, false))
    const keys: { keyId: string; status: string }[] = await must('GET', '/clients/strong/keys')
    strongKey = keys.find(({ status }) => status === 'PASSIVE')?.keyId ?? ''
  })
  afterAll(() => server.close())

  const compareOf = (key: string, value: string) => ({
    source: 'estate',
    sectionHashes: {},
    secrets: [{ kind: 'client', key, pointer: '/secret', value }],
  })
  const changesetOf = async (clientId: string, value: string, dryRun: boolean) => ({
    source: 'estate',
    baseRevision: (await must('GET', '/revisions?max=1'))[0].revision,
    dryRun,
    operations: [
      {
        op: 'put',
        kind: 'client',
        key: clientId,
        doc: {
          ...docOf(clientId),
          ...(clientId === 'strong' ? { serviceAccountRoles: ['admin'] } : {}),
        },
        secrets: { '/secret': value },
      },
    ],
  })

  const requests = async (
    clientId: string,
    value = secret,
  ): Promise<readonly (readonly [string, string, unknown?])[]> => [
    ['POST', '/not-before', { kind: 'client', id: clientId }],
    ['POST', '/compare', compareOf(clientId, value)],
    ['PUT', `/clients/${clientId}`, { ...docOf(clientId), secret: value }],
    ['POST', '/changesets', await changesetOf(clientId, value, true)],
    ['POST', '/changesets', await changesetOf(clientId, value, false)],
    ['POST', `/agents/agent-${clientId}/activate`],
    ['POST', `/agents/agent-${clientId}/attest`],
    ['POST', `/agents/agent-${clientId}/suspend`],
    ['POST', `/agents/agent-${clientId}/revoke`],
    ['POST', `/clients/${clientId}/keys/rotate`],
    ['POST', `/clients/${clientId}/keys/retire`],
  ]

  it('is neither ended nor activated, and its secret is not confirmed', async () => {
    const refused = [
      ...(await requests('strong')),
      ['DELETE', `/clients/strong/keys/${strongKey}?force=true`] as const,
    ]
    for (const [method, path, body] of refused) {
      const { status, body: problem } = await manager.send(method, `${base}${path}`, body)
      expect([method, path, status, problem.detail]).toEqual([
        method,
        path,
        403,
        expect.stringContaining('which you do not'),
      ])
    }
  })

  it('is answered alike for the right secret and for a wrong one', async () => {
    const guesses = await requests('strong', wrong)
    for (const [i, [method, path, body]] of (await requests('strong')).entries()) {
      const right = await manager.send(method, `${base}${path}`, body)
      const guess = await manager.send(method, `${base}${path}`, guesses[i]?.[2])
      const told = ({ status, body: { detail } }: typeof right) => [status, detail]
      expect(told(guess), path).toEqual(told(right))
    }
  })

  it('is one of many: those that hold nothing may be changed', async () => {
    for (const [method, path, body] of await requests('weak')) {
      const { status, body: answer } = await manager.send(method, `${base}${path}`, body)
      expect(status, `${method} ${path} ${JSON.stringify(answer)}`).toBeLessThan(300)
    }
    const answers = (await requests('strong')).slice(0, 6)
    for (const [method, path, body] of answers)
      expect((await server.admin.send(method, `${base}${path}`, body)).status, path).toBe(200)
  })
})
