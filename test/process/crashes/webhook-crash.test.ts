/**
 * The server is killed again and again while events are on their way to many receivers. In the end every receiver has
 * every event, signed, and what came twice came under the same id.
 */
import { describe, expect, it } from 'vitest'
import {
  hasPlainSignature,
  hasStandardSignature,
  idOf,
  openReceiver,
  type Received,
  type Receiver,
} from '../../audit/receiver.ts'
import { backends } from '../../support/backends.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import { isLong, randomFrom, seed } from '../../support/run/chance.ts'
import { makeRealm, moreThan, newKilledServer } from './killed-server.ts'

const kills = isLong ? 50 : 2
const events = isLong ? 5000 : 200
const receivers = isLong ? 20 : 8
const minute = 60_000

const names = Array.from({ length: receivers }, (_, n) => `r${n}`)
const secretOf = (name: string): string => `the secret of ${name}`
const clientSecret = 'a client secret that is long enough'

const documents = (receiver: Receiver) => [
  [
    '/clients',
    {
      clientId: 'machine',
      secret: clientSecret,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
    },
  ] as const,
  ...names.map(
    (name) =>
      [
        '/webhooks',
        {
          name,
          url: receiver.url(`/${name}`),
          eventTypes: 'CLIENT_LOGIN',
          secret: secretOf(name),
        },
      ] as const,
  ),
]

/** Gets tokens, each of which is an event, until so many are there or the server is gone. */
const getTokens = async (url: string, most: number, got: () => void): Promise<void> => {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: clientSecret,
  })
  let asked = 0
  const ask = async (): Promise<void> => {
    while (asked < most) {
      asked += 1
      const answer = await fetch(`${url}/realms/acme/token`, {
        method: 'POST',
        body,
      }).catch(() => undefined)
      if (!answer) return
      expect(answer.status, await answer.text()).toBe(200)
      got()
    }
  }
  await Promise.all([ask(), ask(), ask(), ask()])
}

/** By receiver and event, the ids under which it came. */
const arrivals = (receiver: Receiver): Map<string, Map<string, Set<string>>> => {
  const all = new Map(names.map((name) => [name, new Map<string, Set<string>>()]))
  for (const one of receiver.received) {
    const own = all.get(one.path.slice(1))
    const event = String(one.json.data.id)
    own?.set(event, (own.get(event) ?? new Set()).add(idOf(one)))
  }
  return all
}

describe.each(backends)(
  'a server that is killed while events are on their way ($name)',
  (backend) => {
    it(`loses none of ${events} for ${receivers} receivers, ${kills} times`, {
      timeout: 30 * minute,
    }, async () => {
      const receiver = await openReceiver()
      const unsigned: Received[] = []
      receiver.answer((response, one) => {
        const secret = secretOf(one.path.slice(1))
        if (!(hasPlainSignature(one, secret) && hasStandardSignature(one, secret)))
          unsigned.push(one)
        response.writeHead(204).end()
      })
      const killed = await newKilledServer(backend, {
        certificate: receiver.certificate,
        env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
      })
      const { start } = killed
      await makeRealm(killed, 'acme', documents(receiver))

      const random = randomFrom(seed)
      let acknowledged = 0
      for (let kill = 1; kill <= kills; kill += 1) {
        const server = await start()
        const before = receiver.received.length
        const tokens = getTokens(server.url, events / kills, () => {
          acknowledged += 1
        })
        // At any moment between the first deliveries and the last.
        const some = before + 1 + Math.floor(random() * ((events / kills) * receivers))
        const enough = moreThan(() => receiver.received.length, some, 5000)
        await Promise.all([kill % 2 === 0 ? tokens : undefined, enough])
        await server.kill()
        await tokens
      }

      const last = await start()
      await getTokens(last.url, Math.max(1, events - acknowledged), () => {
        acknowledged += 1
      })
      const admin = await last.admin()
      const pending = async (): Promise<number> => {
        const lists = await Promise.all(
          names.map((name) =>
            admin.send(
              'GET',
              `/admin/realms/acme/webhooks/${name}/deliveries?status=PENDING&max=1`,
            ),
          ),
        )
        return lists.reduce((sum, { body }) => sum + body.length, 0)
      }
      const expected = async (): Promise<number> =>
        (await admin.send('GET', '/admin/realms/acme/events?type=CLIENT_LOGIN&size=1')).body.total
      const told = (): number =>
        Math.min(...[...arrivals(receiver).values()].map((own) => own.size))
      await expect
        .poll(async () => [told(), await pending()], {
          timeout: isLong ? 20 * minute : minute,
          interval: 500,
        })
        .toEqual([await expected(), 0])
      expect(await last.stop()).toEqual({ code: 0, signal: null })

      await withStorage(killed.databaseUrl, async ({ db }) => {
        const rows = await db
          .selectFrom('audit_events')
          .select('event_id')
          .where('realm', '=', 'acme')
          .where('type', '=', 'CLIENT_LOGIN')
          .execute()
        const ids = rows.map(({ event_id }) => event_id).toSorted()
        expect(ids.length).toBeGreaterThanOrEqual(acknowledged)
        for (const [name, own] of arrivals(receiver)) {
          expect([...own.keys()].toSorted(), name).toEqual(ids)
          expect(
            [...own.values()].filter(({ size }) => size !== 1),
            name,
          ).toEqual([])
        }
        const repeats = receiver.received.length - ids.length * receivers
        process.stdout.write(
          `webhooks (${backend.name}): ${kills} kills, ${ids.length} events, ${receiver.received.length} deliveries, ${repeats} of them again\n`,
        )
      })
      expect(unsigned).toEqual([])
      await receiver.close()
    })
  },
)
