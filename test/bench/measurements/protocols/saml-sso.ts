/**
 * A whole single sign-on of a user who has a session, from the AuthnRequest to the signed response, against
 * client_credentials and against a bare handler that signs as often; and what it does to the p99 of client_credentials
 * beside it.
 */

import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { tellHeaders } from '../../limits/same-headers.ts'
import { connect, type Load, type Request, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 7
const ROUND_MS = 2_000
/** Longer than V8 needs to compile what a sign-on runs; a token runs a third of it. */
const WARM_UP_MS = 15_000
const CONNECTIONS = 32
/** More than two cores answer. */
const MOST_PER_SECOND = 1_500
/** Of each kind, where both run at once: they share the processors. */
const BESIDE = CONNECTIONS / 2

const { realm } = party.person
const acs = 'https://sp.example/acs'
/** What is signed for each service provider. */
const providers = {
  both: 'https://sp.example/both',
  assertion: 'https://sp.example/assertion',
} as const

const fill = async (areas: Areas): Promise<void> => {
  await party.fillIssuer(areas)
  await areas.realm.writer.write({
    realm,
    caller: system,
    channel: restChannel,
    operations: Object.values(providers).map((entityId) => ({
      op: 'put',
      kind: SamlClient,
      key: entityId,
      doc: {
        entityId,
        assertionConsumerServiceUrl: acs,
        options: { signResponse: entityId === providers.both },
      },
      secrets: {},
    })),
  })
}

/** Each is answered once: the ID is new every time. */
const signOn = (cookie: string, entityId: string): Request => {
  const request = `<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_${randomBytes(16).toString('hex')}" Version="2.0" IssueInstant="${new Date().toISOString()}" AssertionConsumerServiceURL="${acs}"><saml:Issuer>${entityId}</saml:Issuer><samlp:NameIDPolicy AllowCreate="true"/></samlp:AuthnRequest>`
  const query = new URLSearchParams({ SAMLRequest: deflateRawSync(request).toString('base64') })
  return { method: 'GET', path: `/realms/${realm}/saml/idp/sso?${query}`, headers: { cookie } }
}

/** Made before a round: in the field browsers and service providers make them, on machines of their own. */
const prepared = (cookie: string, entityId: string, count: number): (() => Request) => {
  const made = Array.from({ length: count }, () => signOn(cookie, entityId))
  return () => made.pop() ?? signOn(cookie, entityId)
}

interface Counted extends Load {
  readonly cpuUs: number
}

const p99 = ({ times }: Load): number => quantile(times, 0.99)

const measureOn = async (backend: Backend, bare: Server): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(fill)
    const { url, pid } = await database.serve()
    const cookie = await party.openSession(url)
    const credentials = party.clientCredentials()
    const tokens = (connections: number, ms: number) =>
      sendLoad(url, connections, { ms }, (one) => one.send(credentials, 200))
    const requests = (ms: number, entityId: string = providers.both) =>
      prepared(cookie, entityId, (ms / 1000) * MOST_PER_SECOND)
    const signOns = (connections: number, ms: number, next = requests(ms)) =>
      sendLoad(url, connections, { ms }, async (one) => {
        const { body } = await one.send(next(), 200)
        if (!body.includes('SAMLResponse')) throw new Error('no response came back')
      })
    const bareSignOns = (ms: number, next: () => Request) =>
      sendLoad(bare.url, CONNECTIONS, { ms }, (one) => one.send(next(), 200))
    /** With the processor time of the server for each of them: steadier than the rate on a machine that others share. */
    const counted = async (load: () => Promise<Load>): Promise<Counted> => {
      const before = cpuOf(pid)
      const done = await load()
      return { ...done, cpuUs: (1000 * (cpuOf(pid) - before)) / done.times.length }
    }
    const [alone, both, assertion]: [Counted[], Counted[], Counted[]] = [[], [], []]
    const [half, beside, limit]: [Load[], Load[], Load[]] = [[], [], []]
    const one = connect(url)
    const answer = await one.send(signOn(cookie, providers.both), 200)
    await one.close()
    await tellHeaders(bare.url, `/bytes/${answer.body.length}`, answer)
    await tokens(CONNECTIONS, WARM_UP_MS)
    await signOns(CONNECTIONS, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round += 1) {
      const [forBoth, forOne] = [requests(ROUND_MS), requests(ROUND_MS, providers.assertion)]
      const [forBare, forBeside] = [requests(ROUND_MS), requests(ROUND_MS)]
      alone.push(await counted(() => tokens(CONNECTIONS, ROUND_MS)))
      both.push(await counted(() => signOns(CONNECTIONS, ROUND_MS, forBoth)))
      assertion.push(await counted(() => signOns(CONNECTIONS, ROUND_MS, forOne)))
      limit.push(await bareSignOns(ROUND_MS, forBare))
      half.push(
        await Promise.all([tokens(BESIDE, ROUND_MS), tokens(BESIDE, ROUND_MS)]).then(
          ([one]) => one,
        ),
      )
      beside.push(
        await Promise.all([tokens(BESIDE, ROUND_MS), signOns(BESIDE, ROUND_MS, forBeside)]).then(
          ([one]) => one,
        ),
      )
    }
    const cpu = (loads: readonly Counted[]) => loads.map(({ cpuUs }) => cpuUs)
    const rate = (loads: readonly Load[]) => loads.map(({ perSecond }) => perSecond)
    return [
      {
        what: 'client_credentials',
        on: backend.name,
        'per second': median(rate(alone)),
        'server CPU µs': Math.round(median(cpu(alone))),
        'p99 ms': median(alone.map(p99)),
      },
      ...[
        {
          what: 'single sign-on with a session, both signatures',
          loads: both,
          more: { 'of the limit': medianRatio(rate(both), rate(limit)) },
        },
        {
          what: 'single sign-on with a session, signed assertion',
          loads: assertion,
          more: {},
        },
      ].map(({ what, loads, more }) => ({
        what,
        on: backend.name,
        'per second': median(rate(loads)),
        '× client_credentials': medianRatio(rate(loads), rate(alone)),
        ...more,
        'server CPU µs': Math.round(median(cpu(loads))),
        '× by CPU': medianRatio(cpu(alone), cpu(loads)),
        'p99 ms': median(loads.map(p99)),
      })),
      {
        what: 'the limit: a bare handler, two signatures and a page of the same size',
        on: 'bare node:http',
        'per second': median(rate(limit)),
        '× client_credentials': medianRatio(rate(limit), rate(alone)),
        'p99 ms': median(limit.map(p99)),
      },
      {
        what: 'client_credentials beside as many',
        on: backend.name,
        'per second': median(rate(half)),
        'p99 ms': median(half.map(p99)),
      },
      {
        what: 'client_credentials beside single sign-on',
        on: backend.name,
        'per second': median(rate(beside)),
        'p99 ms': median(beside.map(p99)),
        'p99 × alone': medianRatio(beside.map(p99), half.map(p99)),
      },
    ]
  } finally {
    await database.remove()
  }
}

export const measureSamlSso: Measurement = async ({ backends, serveScript, progress }) => {
  const rows: Row[] = []
  const bare = await serveScript('bare-sso')
  try {
    for (const backend of backends) {
      progress(backend.name)
      rows.push(...(await measureOn(backend, bare)))
    }
  } finally {
    await bare.stop()
  }
  return {
    title: 'single sign-on by SAML against client_credentials',
    notes: [
      `${ROUNDS} interleaved rounds of ${ROUND_MS} ms, ${CONNECTIONS} connections; beside each other ${BESIDE} of each kind`,
      'both signatures are the default; each RSA-2048 signature costs what half of a token costs, which has one of them',
      'goals: 0.5 of the rate of client_credentials; its p99 beside single sign-on within 2 of that beside as many of its own',
    ],
    rows,
  }
}
