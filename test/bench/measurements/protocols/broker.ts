/** Sign-ins through an identity provider against sign-ins with a password, without what the hash of the password costs. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { newId } from '#server/platform/ids.ts'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { type Connection, type Load, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf, cpuOfThreads } from '../../processes.ts'
import { type Credentials, cookieHeader, cookiesOf, openForm } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 7
const ROUND_MS = 4_000
const WARM_UP_MS = 15_000
const CONNECTIONS = 16

const realm = 'acme'
const password = 'a quiet sentence about lamps 17'
const people: readonly Credentials[] = Array.from({ length: CONNECTIONS }, (_, n) => ({
  realm,
  username: `person-${n}`,
  password,
}))

/** A realm with users who have a password here and an account there. */
const fill = async (areas: Areas, issuer: string): Promise<void> => {
  await areas.realm.realms.create({ realm }, system)
  await areas.realm.writer.write({
    realm,
    caller: system,
    channel: restChannel,
    operations: [
      {
        op: 'put',
        kind: IdentityProvider,
        key: 'corp',
        doc: { alias: 'corp', protocol: 'oidc', config: { issuer, clientId: 'realm' } },
        secrets: { '/config/clientSecret': 'a secret of the realm there' },
      },
    ],
  })
  const settings = await areas.realm.settingsOf(realm)
  const provider = await (await areas.copy.fresh(realm))?.get(IdentityProvider.kind, 'corp')
  if (settings === null || !provider) throw new Error(`there is no realm ${realm}`)
  const hash = await (await loadEngine()).hash(password)
  const place = { realm, id: provider.id, alias: 'corp' }
  const statements = people.flatMap(({ username }) => {
    const row = newUserRow({ username }, { id: newId(), realm, now: areas.given.clock.now() })
    return [
      ...areas.users.store.createStatements(row),
      ...areas.credentials.passwords.acceptHash(settings, row, hash).statements,
      ...areas.users.links.link(place, [{ issuer, subject: username, userId: row.id }]),
    ]
  })
  await areas.storage.commit(statements)
}

const withPassword = async (one: Connection, person: Credentials): Promise<void> => {
  await one.send(await openForm(one, person), 303)
}

/** As a browser does: the page, the way there, and the way back with the code. */
const throughProvider = async (one: Connection, { username }: Credentials): Promise<void> => {
  const cookies = cookiesOf(await one.send({ method: 'GET', path: `/realms/${realm}/login` }, 200))
  const leave = {
    method: 'GET',
    path: `/realms/${realm}/broker/corp/login`,
    headers: { cookie: cookieHeader(cookies) },
  } as const
  const left = await one.send(leave, 303)
  const asked = new URL(String(left.headers['location'])).searchParams
  const answer = new URLSearchParams({
    code: `${username}.${asked.get('nonce')}`,
    state: asked.get('state') ?? '',
  })
  const cookie = cookieHeader(new Map([...cookies, ...cookiesOf(left)]))
  const path = `/realms/${realm}/broker/corp/endpoint?${answer}`
  const back = await one.send({ method: 'GET', path, headers: { cookie } }, 303)
  if (!cookiesOf(back).has(`iam-session-${realm}`)) throw new Error('nobody was signed in')
}

interface Counted extends Load {
  /** Processor time of the server for each, without the threads that hash, in µs. */
  readonly cpuUs: number
}

const counted = async ({ pid }: Server, load: () => Promise<Load>): Promise<Counted> => {
  const used = (): number => cpuOf(pid) - cpuOfThreads(pid, 'argon2')
  const before = used()
  const done = await load()
  return { ...done, cpuUs: (1000 * (used() - before)) / done.times.length }
}

const ways = {
  'with a password': withPassword,
  'through an identity provider': throughProvider,
} as const

const measureOn = async (backend: Backend, upstream: Server): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts((areas) => fill(areas, upstream.url))
    const server = await database.serve({
      IAMCTL_OUTGOING_ALLOW: '127.0.0.1',
      IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
    })
    const run = (signIn: (typeof ways)[keyof typeof ways], ms: number) =>
      counted(server, () =>
        sendLoad(server.url, CONNECTIONS, { ms }, async (one, begun) => {
          const person = people[begun % CONNECTIONS]
          if (person) await signIn(one, person)
        }),
      )
    const measured = Object.entries(ways).map(([what, signIn]) => ({
      what,
      signIn,
      rounds: [] as Counted[],
    }))
    for (const { signIn } of measured) await run(signIn, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const { signIn, rounds } of measured) rounds.push(await run(signIn, ROUND_MS))
    const cpu = (rounds: readonly Counted[]) => rounds.map(({ cpuUs }) => cpuUs)
    const local = measured[0]?.rounds ?? []
    return measured.map(({ what, rounds }) => ({
      what,
      on: backend.name,
      'per second': median(rounds.map(({ perSecond }) => perSecond)),
      'server CPU µs, without hashing': Math.round(median(cpu(rounds))),
      'p99 ms': median(rounds.map(({ times }) => quantile(times, 0.99))),
      'of the password’s': medianRatio(cpu(rounds), cpu(local)),
    }))
  } finally {
    await database.remove()
  }
}

export const measureBroker: Measurement = async ({ backends, serveScript }) => {
  const upstream = await serveScript('bare-upstream')
  try {
    const rows: Row[] = []
    for (const backend of backends) rows.push(...(await measureOn(backend, upstream)))
    return {
      title: 'sign-ins through an identity provider',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms, ${CONNECTIONS} connections, always new browsers, users who are linked`,
        'with a password: the page and its form; through a provider: the page, the way there, and the answer, with a token request and an ID token (ES256) to verify',
        'processor time of the server alone, without the threads that hash passwords; the aim is 1.3 times that of the password’s',
      ],
      rows,
    }
  } finally {
    await upstream.stop()
  }
}
