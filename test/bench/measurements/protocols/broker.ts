/**
 * Sign-ins through an identity provider against sign-ins with a password, without what the hash of the password costs: of a
 * user to an application, until it has its tokens; and the part of that at the login page.
 */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { newId } from '#server/platform/ids.ts'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { type Browser, openBrowser, pathOf, targetOf } from '../../browser.ts'
import { type Answer, type Connection, type Load, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf, cpuOfThreads } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import type { Credentials } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 7
const ROUND_MS = 4_000
const WARM_UP_MS = 15_000
const CONNECTIONS = 16

const { realm } = party
const password = 'a quiet sentence about lamps 17'
const people: readonly Credentials[] = Array.from({ length: CONNECTIONS }, (_, n) => ({
  realm,
  username: `person-${n}`,
  password,
}))

/** A realm with an application, and users who have a password here and an account there. */
const fill = async (areas: Areas, issuer: string): Promise<void> => {
  await party.fillIssuer(areas)
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

/** From the path of the login page to the answer that opens the session. */
type SignIn = (browser: Browser, page: string, person: Credentials) => Promise<Answer>

const withPassword: SignIn = async (browser, page, { username, password }) => {
  await browser.get(page, 200)
  return browser.post(page, { username, password }, 303)
}

/** The page, the way there, and the way back with the code. */
const throughProvider: SignIn = async (browser, page, { username }) => {
  await browser.get(page, 200)
  const there = page.replace('/login', '/broker/corp/login')
  const asked = targetOf(await browser.get(there, 303)).searchParams
  const answer = new URLSearchParams({
    code: `${username}.${asked.get('nonce')}`,
    state: asked.get('state') ?? '',
  })
  return browser.get(`/realms/${realm}/broker/corp/endpoint?${answer}`, 303)
}

type Way = (one: Connection, person: Credentials) => Promise<unknown>

const atLoginPage =
  (signIn: SignIn): Way =>
  async (one, person) => {
    const browser = openBrowser(one)
    await signIn(browser, `/realms/${realm}/login`, person)
    if (!browser.has(`iam-session-${realm}`)) throw new Error('nobody was signed in')
  }

/** Until the application has the tokens of the user. */
const toApplication =
  (signIn: SignIn): Way =>
  async (one, person) => {
    const browser = openBrowser(one)
    const page = pathOf(await browser.get(party.authorizePath, 303))
    const signedIn = await signIn(browser, page, person)
    const code = targetOf(await browser.get(pathOf(signedIn), 303)).searchParams.get('code')
    if (code === null) throw new Error('no code came back')
    await one.send(party.exchange(code), 200)
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

/** Each part of a sign-in with a password, and then through a provider. */
const parts = {
  'to an application': toApplication,
  'at the login page alone': atLoginPage,
} as const

const measureOn = async (backend: Backend, upstream: Server): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts((areas) => fill(areas, upstream.url))
    const server = await database.serve({
      IAMCTL_OUTGOING_ALLOW: '127.0.0.1',
      IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
    })
    const run = (way: Way, ms: number) =>
      counted(server, () =>
        sendLoad(server.url, CONNECTIONS, { ms }, async (one, begun) => {
          const person = people[begun % CONNECTIONS]
          if (person) await way(one, person)
        }),
      )
    const rows: Row[] = []
    for (const [part, of] of Object.entries(parts)) {
      const local = { way: of(withPassword), rounds: [] as Counted[] }
      const brokered = { way: of(throughProvider), rounds: [] as Counted[] }
      for (const { way } of [local, brokered]) await run(way, WARM_UP_MS)
      for (let round = 0; round < ROUNDS; round += 1)
        for (const { way, rounds } of [local, brokered]) rounds.push(await run(way, ROUND_MS))
      const cpu = (rounds: readonly Counted[]) => rounds.map(({ cpuUs }) => cpuUs)
      const rowOf = (what: string, { rounds }: typeof local): Row => ({
        what: `${what}, ${part}`,
        on: backend.name,
        'per second': median(rounds.map(({ perSecond }) => perSecond)),
        'server CPU µs, without hashing': Math.round(median(cpu(rounds))),
        'p99 ms': median(rounds.map(({ times }) => quantile(times, 0.99))),
        'of the password’s': medianRatio(cpu(rounds), cpu(local.rounds)),
      })
      rows.push(rowOf('with a password', local), rowOf('through an identity provider', brokered))
    }
    return rows
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
        'to an application: with its authorization request, code and tokens around that',
        'processor time of the server alone, without the threads that hash passwords; the aim is 1.3 times that of the password’s',
      ],
      rows,
    }
  } finally {
    await upstream.stop()
  }
}
