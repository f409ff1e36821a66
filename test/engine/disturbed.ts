/** Writes between two applies: by administrators over REST, by running software, and by users. */

import fc from 'fast-check'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { kindNamed } from '#schemas/registry.ts'
import { runtimeChannel } from '#server/realm/write/operations.ts'
import { pipeline } from '../support/filled-realm.ts'
import type { Answer, TestServer } from '../support/server.ts'
import { placeOf, placesOf, type Sketch } from './sketch.ts'
import { environment } from './values.ts'

export interface Disturbance {
  /** Documents made by hand. */
  readonly hand: boolean
  /** Software registers clients and groups; the number chooses one whose name the files will take. */
  readonly runtime: number
  /** Documents of the files, changed and deleted by hand. */
  readonly edited: readonly number[]
  readonly deleted: readonly number[]
  /** A user who registers; the number chooses a user whom the files will name. */
  readonly human: number
  /** A user of the files gets another password. */
  readonly password: boolean
}

const few = fc.array(fc.nat(200), { maxLength: 2 })

export const disturbances: fc.Arbitrary<Disturbance> = fc.record({
  hand: fc.boolean(),
  runtime: fc.nat(3),
  edited: few,
  deleted: few,
  human: fc.nat(3),
  password: fc.nat(9).map((n) => n === 9),
})

const must = async (answer: Promise<Answer>): Promise<Answer> => {
  const { status, body, headers } = await answer
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  return { status, body, headers }
}

const flagOrText = ({ spec }: Kind): string | undefined =>
  ['enabled', 'description', 'displayName'].find((name) => name in (spec.properties ?? {}))

/** Its REST address, where it has one of its own. */
const addressOf = (base: string, kind: Kind, key: string): string | undefined =>
  kind.path === null || !['collection', 'tree'].includes(kind.shape)
    ? undefined
    : `${base}${kind.path}/${encodeURIComponent(key)}`

const picked = <T>(list: readonly T[], numbers: readonly number[]): T[] =>
  numbers.flatMap((n) => list[n % Math.max(list.length, 1)] ?? [])

/** Writes to a realm that is `a` while it is not yet `b`; answers the id of the user who came, if one did. */
export const disturb = async (
  server: TestServer,
  realm: string,
  { a, b }: { readonly a: Sketch; readonly b: Sketch },
  what: Disturbance,
): Promise<string | null> => {
  const { admin, areas } = server
  const base = `/admin/realms/${realm}`
  const first = (kind: Kind): string | undefined =>
    a.items.find((item) => item.kind === kind.kind)?.key
  const addressed = a.items.flatMap((item) => {
    const address = addressOf(base, kindNamed(item.kind), item.key)
    return address === undefined ? [] : [{ ...item, address }]
  })

  if (what.hand) {
    const role = first(kindNamed('role'))
    await must(
      admin.send('POST', `${base}/roles`, {
        name: 'by-hand',
        description: 'mine',
        composites: role === undefined ? [] : [role],
      }),
    )
    const clientId = first(Client)
    await must(
      admin.send('POST', `${base}/applications`, {
        name: 'by-hand',
        ...(clientId === undefined ? {} : { clientId }),
      }),
    )
    await must(
      admin.send('POST', `${base}/webhooks`, {
        name: 'by-hand',
        url: 'https://hand.example/',
        eventTypes: '*',
        secret: environment['SECRET_A'],
      }),
    )
    await must(admin.send('POST', `${base}/groups`, { name: 'By-Hand' }))
  }

  if (what.runtime > 0) {
    const taken = placesOf(a.items)
    const later = b.items.filter(
      (item) => item.kind === Client.kind && !item.from && !taken.has(placeOf(item)),
    )
    const named = what.runtime > 1 ? later.slice(0, 1).map(({ key }) => key) : []
    const put = (kind: Kind, key: string, doc: Doc) => ({
      op: 'put' as const,
      kind,
      key,
      doc,
      secrets: {},
    })
    await areas.realm.writer.write({
      realm,
      caller: pipeline,
      channel: runtimeChannel,
      operations: [
        ...['registered', ...named].map((clientId) => put(Client, clientId, { clientId })),
        put(Group, '/Directory', { name: 'Directory' }),
      ],
    })
  }

  for (const { address, kind } of picked(addressed, what.edited)) {
    const field = flagOrText(kindNamed(kind))
    if (field === undefined) continue
    const { body } = await must(admin.send('GET', address))
    const value = field === 'enabled' ? !body.enabled : 'changed by hand'
    await must(admin.send('PUT', address, { ...body, [field]: value }))
  }
  // Some are held on to by others, some are part of every realm.
  for (const { address } of picked(addressed, what.deleted)) await admin.send('DELETE', address)

  const user = first(kindNamed('user'))
  if (what.password && user !== undefined)
    await must(
      admin.send('PUT', `${base}/users/${user}/password`, { newPassword: 'Changed-By-Hand-88!' }),
    )
  if (what.human === 0) return null
  // They may have been there before a file names them.
  const declared = b.items.find(
    (item) => item.kind === 'user' && !item.from && !placesOf(a.items).has(placeOf(item)),
  )
  const human = (what.human > 2 ? declared?.key : undefined) ?? 'somebody-else'
  const credentials = [{ type: 'password', value: environment['HASH_A'] }]
  await must(
    admin.send('POST', `${base}/users/import`, {
      users: [{ username: human, email: 'somebody@else.example', credentials }],
    }),
  )
  const role = first(kindNamed('role'))
  // It may have been deleted above.
  if (role !== undefined) await admin.send('POST', `${base}/users/${human}/roles`, { name: role })
  return (await must(admin.send('GET', `${base}/users/${human}`))).body.userId
}
