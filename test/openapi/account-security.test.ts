/** Security requirements in the API description of self-service agree with its behaviour. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { send, startServer, type TestServer } from '../support/server.ts'
import { type Operation, operationsIn, readDocument } from './document.ts'

describe.each(backends.slice(0, 1))(
  'the description of the self-service surface on $name',
  (backend) => {
    let server: TestServer
    let operations: Operation[] = []
    beforeAll(async () => {
      server = await startServer(backend)
      operations = operationsIn(await readDocument(server)).filter(({ tags }) =>
        tags.includes('account'),
      )
    })
    afterAll(() => server.close())

    const isForm = ({ requestBody }: Operation): boolean =>
      Object.keys(requestBody?.content ?? {}).some((type) => type.includes('form'))
    const isPage = (one: Operation): boolean => isForm(one) || one.operationId.startsWith('show-')
    const call = (one: Operation, headers: Readonly<Record<string, string>>) =>
      send(
        server.app,
        one.method,
        one.path.replace('{realm}', 'master').replace(/\{\w+\}/, '0'.repeat(32)),
        one.requestBody ? (isForm(one) ? '_csrf=x' : {}) : undefined,
        isForm(one) ? { ...headers, 'content-type': 'application/x-www-form-urlencoded' } : headers,
      )

    /** By the proof in their body: a token that was mailed or shown, or a signature of a key. */
    const open = [
      'start-device-enrollment',
      'enroll-device',
      'read-device-approval',
      'decide-device-approval',
      'show-address-change',
      'restore-address',
    ]

    it('names the session, the page, or the token that each operation takes, and only theirs', () => {
      expect(operations.length).toBeGreaterThan(40)
      for (const one of operations) {
        const { operationId, method, path, security } = one
        const session = method === 'GET' ? { session: [] } : { session: [], xsrf: [] }
        const expected = open.includes(operationId)
          ? []
          : path.startsWith('/realms/{realm}/tx')
            ? [{ token: [] }]
            : isPage(one)
              ? [{ session: [] }, {}]
              : /^\/realms\/\{realm\}\/(push|qr)\//.test(path)
                ? [session]
                : [session, { 'account-token': [] }]
        expect(security, operationId).toEqual(expected)
      }
    })

    it('tells the truth: what needs nothing is open, and everything else sends a stranger away', async () => {
      for (const one of operations) {
        const { status } = await call(one, {})
        if (one.security.length === 0)
          expect([400, 401, 403, 404, 410], one.operationId).toContain(status)
        else expect(isPage(one) ? [303] : [401], one.operationId).toContain(status)
      }
    })

    it('has one shape of refusal, a problem, and a challenge where a token is at fault (RFC 6750 §3)', async () => {
      const wrong = [
        {},
        { authorization: 'Bearer x' },
        { authorization: 'Bearer' },
        { authorization: 'DPoP x' },
        { authorization: 'Basic eDp5' },
      ]
      for (const one of operations.filter((each) => !isPage(each) && each.security.length > 0))
        for (const headers of wrong) {
          const answer = await call(one, headers)
          const name = `${one.operationId} ${JSON.stringify(headers)}`
          expect(answer.status, name).toBe(401)
          expect(answer.headers['content-type'], name).toContain('application/problem+json')
          expect(answer.body, name).toMatchObject({ status: 401, code: 'unauthenticated' })
          expect(answer.headers['www-authenticate'], name).toMatch(/^(Bearer|DPoP) realm="master"/)
        }
      const nowhere = await server.anonymous.send('GET', '/realms/none/account/gdpr/consents')
      expect([nowhere.status, nowhere.body.code]).toEqual([404, 'not-found'])
      const method = await server.anonymous.send('PATCH', '/realms/master/account/gdpr/consents')
      expect([method.status, method.body.code]).toEqual([405, 'method-not-allowed'])
    })
  },
)
