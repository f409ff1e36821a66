/**
 * Authorization services with 10,000 resources and 1,000 permissions (keycloak#20566): a decision, and a token with 20
 * permissions, against a token of `client_credentials` of the same client in the same run; and how long one caller waits for
 * the same decision and for its explanation, with nobody else there.
 */

import { AuthzPermission } from '#schemas/kinds/authorization/authz-permission.ts'
import { AuthzPolicy } from '#schemas/kinds/authorization/authz-policy.ts'
import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import { AuthzScope } from '#schemas/kinds/authorization/authz-scope.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { type Operation, restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { type Load, type Request, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 9
const ROUND_MS = 2_000
const WARM_UP_MS = 6_000
const CONNECTIONS = 16
const ALONE = 1_000

const realm = 'acme'
const secret = 'a secret of the measurement, long enough'
const resources = 10_000
const permissions = 1_000
const asked = 20

const put = (kind: Operation['kind'], key: string, doc: Record<string, unknown>): Operation => ({
  op: 'put',
  kind,
  key,
  doc,
  secrets: kind === Client ? { '/secret': secret } : {},
})

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** Every permission is about ten resources, by a policy of its own. */
const fill = async (areas: Areas): Promise<void> => {
  await areas.realm.realms.create({ realm }, system)
  const client = {
    clientId: 'api',
    grantTypes: ['client_credentials', 'uma-ticket'],
    serviceAccountsEnabled: true,
    authorizationServicesEnabled: true,
  }
  const perPermission = resources / permissions
  const policy = { type: 'client', clients: ['api'] }
  await areas.realm.writer.write({
    realm,
    caller: system,
    channel: restChannel,
    operations: [
      put(Client, 'api', client),
      put(AuthzScope, 'api/read', { name: 'read' }),
      ...numbers(resources).map((n) =>
        put(AuthzResource, `api/r${n}`, { name: `r${n}`, scopes: ['read'] }),
      ),
      ...numbers(permissions).flatMap((n) => [
        put(AuthzPolicy, `api/p${n}`, { name: `p${n}`, ...policy }),
        put(AuthzPermission, `api/q${n}`, {
          name: `q${n}`,
          policies: [`p${n}`],
          resources: numbers(perPermission).map((m) => `r${n * perPermission + m}`),
        }),
      ]),
    ],
  })
}

const tokenRequest = (fields: readonly [string, string][]): Request => ({
  method: 'POST',
  path: `/realms/${realm}/token`,
  headers: {
    authorization: `Basic ${Buffer.from(`api:${encodeURIComponent(secret)}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: new URLSearchParams([...fields]).toString(),
})

const umaGrant = 'urn:ietf:params:oauth:grant-type:uma-ticket'
const some = numbers(asked).map((n): [string, string] => ['permission', `r${n * 499}#read`])

const decision = tokenRequest([
  ['grant_type', umaGrant],
  ['audience', 'api'],
  ['permission', 'r4242#read'],
  ['response_mode', 'decision'],
])

const ways: readonly { readonly what: string; readonly request: Request }[] = [
  {
    what: 'client_credentials',
    request: tokenRequest([['grant_type', 'client_credentials']]),
  },
  {
    what: `token with ${asked} permissions`,
    request: tokenRequest([['grant_type', umaGrant], ['audience', 'api'], ...some]),
  },
  { what: 'decision about one scope', request: decision },
]

/** The explanation by the admin API: which policy answered what, and why. */
const explanation = async (url: string): Promise<Request> => ({
  method: 'POST',
  path: adminUrl(realm, 'clients/api/authz/evaluate'),
  headers: await signInAsAdmin(url),
  body: JSON.stringify({ clientId: 'api', resources: [{ name: 'r4242', scopes: ['read'] }] }),
})

const alone = async (url: string, request: Request): Promise<Row> => {
  const { perSecond, times } = await sendLoad(url, 1, { ms: 60_000, most: ALONE }, (connection) =>
    connection.send(request, 200),
  )
  return {
    'at once': 1,
    'per s': perSecond,
    'p50 ms': quantile(times, 0.5),
    'p99 ms': quantile(times, 0.99),
  }
}

const rowsOn = async ({ name, create }: Backend): Promise<Row[]> => {
  const database = await create()
  try {
    await database.withParts(fill)
    const server: Server = await database.serve()
    const loads = ways.map((): Load[] => [])
    const round = async (index: number, ms: number): Promise<Load> =>
      sendLoad(server.url, CONNECTIONS, { ms }, (connection) =>
        connection.send(ways[index]?.request ?? { method: 'GET', path: '/' }, 200),
      )
    for (const index of ways.keys()) await round(index, WARM_UP_MS)
    for (let turn = 0; turn < ROUNDS; turn += 1)
      for (const [index, of] of loads.entries()) of.push(await round(index, ROUND_MS))
    const rates = loads.map((of) => of.map(({ perSecond }) => perSecond))
    const single = [
      { what: 'decision about one scope', request: decision },
      { what: 'evaluate', request: await explanation(server.url) },
    ]
    const rows: Row[] = []
    for (const { what, request } of single)
      rows.push({ what, on: name, ...(await alone(server.url, request)) })
    const crowded = ways.map(({ what }, index): Row => {
      const times = (loads[index] ?? []).flatMap((load) => load.times)
      return {
        what,
        on: name,
        'at once': CONNECTIONS,
        'per s': median(rates[index] ?? []),
        'p50 ms': quantile(times, 0.5),
        'p99 ms': quantile(times, 0.99),
        '× client_credentials': medianRatio(rates[index] ?? [], rates[0] ?? []),
      }
    })
    return [...crowded, ...rows]
  } finally {
    await database.remove()
  }
}

export const measureAuthz: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await rowsOn(backend)))
  return {
    title: `Authorization services: ${resources} resources, ${permissions} permissions`,
    notes: [
      `each request is recorded durably; ${CONNECTIONS} at once keep both cores busy, so that each waits for the others`,
      `limits: p99 of a decision and of its explanation 20 ms, a token with ${asked} permissions half the rate of client_credentials`,
    ],
    rows,
  }
}
