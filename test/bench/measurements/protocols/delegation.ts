/** Delegation to an agent (RFC 8693), with its grant and its note of the use written durably, against client_credentials. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { type Backend, system } from '../../backends.ts'
import { type Load, type Request, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 9
const ROUND_MS = 2_000
const WARM_UP_MS = 4_000
const CONNECTIONS = 32

const { realm } = party.person
const secret = 'a quiet sentence about agents, 32 or more'
const agent = 'agent'

const fill = async (areas: Areas): Promise<void> => {
  await party.fillIssuer(areas)
  await areas.realm.writer.write({
    realm,
    caller: system,
    channel: restChannel,
    operations: [
      {
        op: 'put',
        kind: Client,
        key: 'web',
        doc: (before) => ({ ...before, audiences: [agent] }),
        secrets: {},
      },
      {
        op: 'put',
        kind: Client,
        key: agent,
        doc: {
          clientId: agent,
          grantTypes: ['client_credentials', 'token-exchange'],
          tokenEndpointAuthMethod: 'client_secret_post',
          serviceAccountsEnabled: true,
          scopes: ['profile'],
        },
        secrets: { '/secret': secret },
      },
      {
        op: 'put',
        kind: Agent,
        key: agent,
        doc: { name: agent, clientId: agent, allowedScopes: ['profile'], allowedDelegation: true },
        secrets: {},
      },
    ],
  })
  const view = await areas.copy.fresh(realm)
  const document = await view?.get(Agent.kind, agent)
  if (!view || !document) throw new Error('there is no agent')
  await areas.agents.lifecycle.move(view, document, 'activate', {
    actor: system.actor,
    sourceIp: system.sourceIp,
  })
}

const request = (path: string, fields: Readonly<Record<string, string>>): Request => ({
  method: 'POST',
  path: `/realms/${realm}${path}`,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ ...fields, client_id: agent, client_secret: secret }).toString(),
})

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(fill)
    const { url } = await database.serve()
    const [tokens] = await (await party.openVisit(url)).tokens(1)
    const delegation = request('/agent/delegation/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: tokens?.access_token ?? '',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    const ways = [
      { what: 'client_credentials', one: party.clientCredentials() },
      {
        what: 'client_credentials of the agent',
        one: request('/token', { grant_type: 'client_credentials' }),
      },
      { what: 'delegation', one: delegation },
    ].map((way) => ({ ...way, loads: [] as Load[] }))
    const load = (one: Request, ms: number) =>
      sendLoad(url, CONNECTIONS, { ms }, (connection) => connection.send(one, 200))
    for (const { one } of ways) await load(one, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const { one, loads } of ways) loads.push(await load(one, ROUND_MS))
    const rates = (loads: readonly Load[]) => loads.map(({ perSecond }) => perSecond)
    const [first] = ways
    return ways.map(({ what, loads }) => ({
      what,
      on: backend.name,
      'per second': median(rates(loads)),
      '× client_credentials': medianRatio(rates(loads), rates(first?.loads ?? [])),
      'p99 ms': median(loads.map(({ times }) => quantile(times, 0.99))),
    }))
  } finally {
    await database.remove()
  }
}

export const measureDelegation: Measurement = async ({ backends, progress }) => {
  const rows: Row[] = []
  for (const backend of backends) {
    progress(backend.name)
    rows.push(...(await measureOn(backend)))
  }
  return {
    title: 'delegation to agents against client_credentials',
    notes: [
      `${ROUNDS} interleaved rounds of ${ROUND_MS} ms, ${CONNECTIONS} connections, one user and one agent`,
      'goal: 0.6 of the rate of client_credentials',
    ],
    rows,
  }
}
