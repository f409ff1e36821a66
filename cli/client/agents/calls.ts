/** Calls about agents. */

import type { AgentRecord, ReviewItem } from '#schemas/wire/agents.ts'
import { type Call, path } from '../http/call.ts'

export type AgentMove = 'activate' | 'suspend' | 'revoke' | 'attest'

export const agentCalls = (call: Call) => ({
  async list(realm: string): Promise<AgentRecord[]> {
    return (await call<AgentRecord[]>('GET', path`/admin/realms/${realm}/agents`)).body
  },
  async review(realm: string): Promise<ReviewItem[]> {
    const where = path`/admin/realms/${realm}/agents/owner-review`
    return (await call<ReviewItem[]>('GET', where)).body
  },
  async move(realm: string, agent: string, move: AgentMove): Promise<AgentRecord> {
    const where = path`/admin/realms/${realm}/agents/${agent}/${move}`
    return (await call<AgentRecord>('POST', where)).body
  },
})
