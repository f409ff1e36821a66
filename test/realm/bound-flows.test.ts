/** Flows in use prove the user on every path; the rule holds for REST, changesets, imports and files. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { check } from '../cli/validate/check.ts'
import { anyBackend } from '../support/backends.ts'
import { type Client, startServer, type TestServer } from '../support/server.ts'
import { put, type Sender, senderTo } from './changesets/changeset.ts'

interface Execution {
  readonly authenticator?: string
  readonly flowAlias?: string
  readonly requirement?: string
}
interface FlowText {
  readonly alias: string
  readonly topLevel?: boolean
  readonly authenticationExecutions: readonly Execution[]
}

const flow = (alias: string, ...steps: (string | Execution)[]): FlowText => ({
  alias,
  authenticationExecutions: steps.map((one) =>
    typeof one === 'string' ? { authenticator: one } : one,
  ),
})
const inside = (one: FlowText): FlowText => ({ ...one, topLevel: false })
const second = (...steps: (string | Execution)[]) => inside(flow('browser-second-factor', ...steps))
const either = (authenticator: string) => ({ authenticator, requirement: 'ALTERNATIVE' })
const sub = { flowAlias: 'part', requirement: 'REQUIRED' }

/** Flows that run each other, `width` times each, down to one that signs in; the innermost first. */
const tree = (depth: number, width: number): FlowText[] =>
  Array.from({ length: depth }, (_, n) => {
    const flowAlias = n + 1 < depth ? `tree-${n + 1}` : 'browser-by-password'
    const one = flow(`tree-${n}`, ...Array<Execution>(width).fill({ flowAlias }))
    return n === 0 ? one : inside(one)
  }).reverse()

interface Case {
  readonly flows: readonly FlowText[]
  readonly browserFlow?: string
  readonly code: string
}
const bound = (code: string, ...steps: (string | Execution)[]): Case => ({
  flows: [flow('browser', ...steps)],
  code,
})

/** Each of these flows would let an attacker in, or no user. */
const refused: Readonly<Record<string, Case>> = {
  'a name alone': bound('no-proof', 'identify'),
  'a name, and an app that is set up there': bound('proof-first', 'identify', 'totp'),
  'a name, and a key that is set up there': bound('proof-first', 'identify', 'webauthn'),
  'a choice of what is set up there': bound(
    'proof-first',
    'identify',
    either('totp'),
    either('webauthn'),
  ),
  'an app before the proof': bound('proof-first', 'identify', 'totp', 'password'),
  'a new password without a proof': {
    flows: [flow('reset-credentials', 'identify', 'reset-password')],
    code: 'proof-first',
  },
  'a new password by an app that is set up there': {
    flows: [flow('reset-credentials', 'identify', 'totp', 'reset-password')],
    code: 'proof-first',
  },
  'a registration that proves nothing': {
    flows: [flow('registration', 'identify')],
    code: 'no-proof',
  },
  'the organizations of a name': bound('proof-first', 'identify', 'organization', 'password'),
  'a first sign-in that is none': bound('first-login-only', 'identify', 'broker-link-or-create'),
  'a flow of the broker': {
    flows: [],
    browserFlow: 'first-broker-login',
    code: 'first-login-only',
  },
  'a flow that is bound later': {
    flows: [flow('weak', 'identify')],
    browserFlow: 'weak',
    code: 'no-proof',
  },
  'more executions than a sign-in may walk through': {
    flows: tree(5, 3),
    browserFlow: 'tree-0',
    code: 'too-many',
  },
  'flows that are too deep inside each other': {
    flows: tree(11, 1),
    browserFlow: 'tree-0',
    code: 'depth',
  },
  'a part of it that is changed later': {
    flows: [second('broker-review-profile')],
    code: 'first-login-only',
  },
  'a part that was the proof': {
    flows: [inside(flow('part', 'terms')), flow('browser', 'identify', sub)],
    code: 'proof-first',
  },
}

/** Each has a way through for users with a factor and without. */
const accepted: Readonly<Record<string, Case>> = {
  'an app or the password': bound('', 'identify', either('totp'), either('password')),
  'an app after the password': bound('', 'identify', 'password', 'totp'),
  'a passkey alone': bound('', 'webauthn-passwordless'),
  'a code by mail': bound('', 'identify', 'email-code', 'terms'),
  'a flow that nothing runs': { flows: [flow('draft', 'identify')], code: '' },
}

const codesOf = ({ body }: { readonly body: { errors?: { code: string }[] } }) =>
  (body.errors ?? []).map(({ code }) => code)

describe.each(anyBackend)('flows that are run on $name', (backend) => {
  let server: TestServer
  let author: Client
  let to: Sender
  let count = 0
  let base = ''
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const realmFor = async () => {
    count += 1
    const realm = `r${count}`
    base = await server.createRealm(realm)
    to = senderTo(server, realm)
    author = await server.userWith(realm, ['manage-authorization', 'manage-realm'])
  }
  const operationsOf = ({ flows, browserFlow }: Case) => [
    ...flows.map((one) => put('flow', one.alias, { ...one })),
    ...(browserFlow === undefined ? [] : [put('settings', 'settings', { browserFlow })]),
  ]
  const documentOf = ({ flows, browserFlow }: Case) => ({
    formatVersion: 1,
    flows,
    ...(browserFlow === undefined ? {} : { settings: { browserFlow } }),
  })

  /** One after the other, until one is refused. */
  const byRest = async ({ flows, browserFlow }: Case) => {
    for (const one of flows) {
      const answer = await author.send('PUT', `${base}/flows/${one.alias}`, one)
      const made = answer.status === 404 ? await author.send('POST', `${base}/flows`, one) : answer
      if (made.status >= 300) return made
    }
    return author.send('PUT', `${base}/settings`, browserFlow === undefined ? {} : { browserFlow })
  }

  const doors = {
    REST: byRest,
    changeset: (one: Case) => to.apply(operationsOf(one)),
    import: (one: Case) => server.admin.send('POST', `${base}/import`, documentOf(one)),
  }

  for (const [door, send] of Object.entries(doors)) {
    it.each(Object.entries(refused))(`are refused by ${door}: %s`, async (_name, one) => {
      await realmFor()
      const answer = await send(one)
      expect(answer.status, JSON.stringify(answer.body)).toBe(400)
      expect(codesOf(answer)).toContain(one.code)
    })

    it.each(Object.entries(accepted))(`are taken by ${door}: %s`, async (_name, one) => {
      await realmFor()
      const answer = await send(one)
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    })
  }

  it('are refused at the address of the browser flow too', async () => {
    await realmFor()
    const answer = await author.send('PUT', `${base}/flow`, flow('browser', 'identify', 'totp'))
    expect([answer.status, codesOf(answer)]).toEqual([400, ['proof-first']])
  })

  it('can be mended one by one where several are wrong', async () => {
    await realmFor()
    const { storage } = server.areas
    for (const alias of ['browser', 'reset-credentials'])
      await storage.commit([
        storage.db
          .updateTable('documents')
          .set({ body: JSON.stringify(flow(alias, 'identify')) })
          .where('realm', '=', `r${count}`)
          .where('key', '=', alias)
          .compile(),
      ])
    for (const alias of ['browser', 'reset-credentials']) {
      const answer = await author.send(
        'PUT',
        `${base}/flows/${alias}`,
        flow(alias, 'username-password'),
      )
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
  })
})

describe('flows that are run, in files', () => {
  const diagnosed = async ({ flows, browserFlow }: Case) => {
    const settings = browserFlow === undefined ? {} : { settings: { browserFlow } }
    const { diagnostics } = await check(JSON.stringify({ realm: 'a', ...settings, flows }))
    return diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)
  }

  it.each(Object.entries(refused))('are refused: %s', async (_name, one) => {
    expect(await diagnosed(one)).toContain(one.code)
  })
  it.each(Object.entries(accepted))('are taken: %s', async (_name, one) => {
    expect(await diagnosed(one)).toEqual([])
  })
})
