/**
 * The scope of a delegation is the common part of four sets: what is asked for, what the subject token has, what the agent may
 * have, and what the user consented to. Over generated sets.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { anyBackend } from '../support/backends.ts'
import { type AgentSite, openAgentSite, type TestAgent } from './fixture.ts'

const scopes = ['openid', 'profile', 'orders', 'invoices', 'email']
/** Of the client of the agent. */
const ofClient = new Set(['openid', 'profile', 'orders', 'invoices'])
const some = fc.subarray(scopes)

describe.each(anyBackend)('the scope of a delegation', (backend) => {
  let site: AgentSite
  let bot: TestAgent
  beforeAll(async () => {
    site = await openAgentSite(backend)
    bot = await site.agent('bot')
  })
  afterAll(() => site.close())

  it('is never more than any of its four bounds, and all that they have in common', async () => {
    await fc.assert(
      fc.asyncProperty(
        some,
        fc.subarray(['profile', 'orders', 'invoices']),
        fc.option(some),
        fc.option(some.filter((asked) => asked.length > 0)),
        async (subject, agent, consent, asked) => {
          const { areas } = site.server
          const { consents } = areas.oidc
          await site.admin('PUT', `/agents/${bot.agentId}`, {
            name: 'bot',
            clientId: 'bot',
            allowedScopes: agent,
            allowedDelegation: true,
          })
          await areas.storage.commit([
            ...consents.forget('acme', site.alice.id, bot.id),
            statement(areas.storage.db.deleteFrom('agent_delegations')),
          ])
          if (consent !== null)
            await areas.storage.commit(await consents.grant('acme', site.alice.id, bot.id, consent))
          const common = subject.filter(
            (one) =>
              ofClient.has(one) &&
              (one === 'openid' || agent.includes(one)) &&
              (consent?.includes(one) ?? true),
          )
          const token = await site.ofAlice({ scope: subject })
          const { status, body } = await site.delegate(
            bot,
            token,
            asked === null ? {} : { scope: asked.join(' ') },
          )
          const given = String(body.scope ?? '')
            .split(' ')
            .filter((one) => one !== '')
          if (asked === null) expect([status, given]).toEqual([200, common])
          else if (asked.every((one) => common.includes(one)))
            expect([status, given]).toEqual([200, asked])
          else expect([status, body.error]).toEqual([400, 'invalid_scope'])
        },
      ),
      { numRuns: 60 },
    )
  })
})
