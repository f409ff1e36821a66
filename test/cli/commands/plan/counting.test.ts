/** A plan, its apply and the history count a change alike. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLong, seed } from '../../../support/run/chance.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

interface Counts {
  readonly add: number
  readonly change: number
  readonly destroy: number
  readonly adopt: number
  readonly along: number
}

const counts = (text: string, pattern: RegExp): Counts => {
  const found = pattern.exec(text)
  if (!found) throw new Error(`no figures in ${JSON.stringify(text)}`)
  const [add, change, destroy, adopt, along] = found.slice(1).map((digits) => Number(digits ?? 0))
  return { add, change, destroy, adopt, along } as Counts
}

const admin = async (method: string, path: string, body?: unknown) => {
  const { status, body: reply } = await world().admin.send(method, path, body)
  return { status, reply: reply as Record<string | number, never> }
}

const planned =
  /Plan: (\d+) to add, (\d+) to change, (\d+) to destroy(?:, (\d+) to adopt)?(?:, (\d+) to change along)?\.\n/
const applied =
  /Documents: (\d+) added, (\d+) changed, (\d+) destroyed(?:, (\d+) adopted)?(?:, (\d+) changed along)?\.\n/
const listed = /\+(\d+) ~(\d+) -(\d+)(?:, (\d+) adopted)?(?:, (\d+) along)?/

const none: Counts = { add: 0, change: 0, destroy: 0, adopt: 0, along: 0 }

/** The figures of one change, which are the same wherever they are told; null where the apply does nothing. */
const figuresOf = async ({ run }: Estate, realm: string): Promise<Counts | null> => {
  const latest = async (): Promise<number> => {
    const { status, reply } = await admin('GET', `/admin/realms/${realm}/revisions?max=1`)
    return status === 200 ? Number(reply[0]?.['revision']) : 0
  }
  const before = await latest()
  const [plan, inJson] = await Promise.all([
    run('plan --take-over'),
    run('plan --take-over -o json'),
  ])
  expect(plan.code, plan.stderr).toBe(0)
  const json = JSON.parse(inJson.stdout)
  const done = await run('apply --auto-approve --take-over --max-deletions 100')
  expect(done.code, done.stderr).toBe(0)
  if ((await latest()) === before) {
    expect(json.summary).toEqual(none)
    return null
  }
  const figures: Counts = json.summary
  const isSilent = /^No changes\./m.test(plan.stdout)
  if (isSilent) expect(figures).toEqual({ ...none, adopt: figures.adopt })
  else expect(counts(plan.stdout, planned)).toEqual(figures)
  expect({ apply: counts(done.stdout, applied) }).toEqual({ apply: figures })
  const history = await run(`history --realm ${realm} --limit 1`)
  expect({ history: counts(history.stdout, listed) }).toEqual({ history: figures })
  return figures
}

const estateOf = (source: string): Estate =>
  newEstate(world(), { 'iamctl.yaml': `source: ${source}\npaths: [realm.json]\n` })

/** Of five documents some, each under one of two names, with a value that may change and others that it names. */
const some = fc.uniqueArray(
  fc.record({
    n: fc.nat(4),
    name: fc.constantFrom('x', 'y'),
    value: fc.constantFrom('one', 'two'),
    names: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  }),
  { selector: ({ n }) => n, maxLength: 5 },
)
const steps = fc.record({
  estate: fc.constantFrom('one', 'two'),
  roles: some,
  clients: some,
  groups: some,
  title: fc.constantFrom('One', 'Two'),
  storage: fc.constantFrom('hashed', 'revealable'),
  byHand: some,
  /** Sections that the files of the step leave out. */
  without: fc.subarray(['clients', 'groups'], { maxLength: 1 }),
})

type Some = typeof some extends fc.Arbitrary<infer T> ? T : never
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never
type Listed = readonly Readonly<Record<string, unknown>>[]

/** What the realm has, as the export tells it. */
interface Realm {
  readonly roles: Listed
  readonly clients: Listed
  readonly groups: Listed
  readonly ownerOf: (kind: string, key: string) => string | null
}

const realmNow = async (realm: string): Promise<Realm> => {
  const { status, reply } = await admin('GET', `/admin/realms/${realm}/export`)
  const { roles = [], clients = [], groups = [], meta } = status === 200 ? reply : {}
  const documents = (meta ?? { documents: {} })['documents'] as Record<
    string,
    Record<string, { owner: string | null }>
  >
  return { roles, clients, groups, ownerOf: (kind, key) => documents[kind]?.[key]?.owner ?? null }
}

/** The name of the n-th document once the step is done, and the one that it has now. */
const naming = (field: string, now: Listed, wanted: Some, isLeaving: (name: string) => boolean) => {
  const names = now.map((document) => String(document[field]))
  const nowOf = (n: number) => names.find((name) => name.startsWith(`n${n}-`))
  const thenOf = (n: number) => {
    const entry = wanted.find((one) => one.n === n)
    if (entry) return `n${n}-${entry.name}`
    const name = nowOf(n)
    return name === undefined || isLeaving(name) ? undefined : name
  }
  const entryOf = (n: number) => {
    const [was, is] = [nowOf(n), thenOf(n)]
    return { [field]: is, ...(was !== undefined && was !== is ? { renamedFrom: was } : {}) }
  }
  return { nowOf, thenOf, entryOf }
}

const fileOf = (realm: string, step: Step, now: Realm): string => {
  const leaves = (kind: string) => (name: string) => now.ownerOf(kind, name) === step.estate
  const wanted = (section: 'clients' | 'groups') =>
    step.without.includes(section) ? [] : step[section]
  const roles = naming('name', now.roles, step.roles, leaves('role'))
  const isListed = !step.without.includes('clients')
  const clients = naming(
    'clientId',
    now.clients,
    wanted('clients'),
    isListed ? leaves('client') : () => false,
  )
  const groups = naming('name', now.groups, wanted('groups'), leaves('group'))
  const sections = {
    clients: wanted('clients').map(({ n, value }) => ({
      ...clients.entryOf(n),
      name: value,
      publicClient: n !== 0,
      roles: [{ name: 'reader' }, { name: value }],
    })),
    groups: wanted('groups').map(({ n, names, value }) => ({
      ...groups.entryOf(n),
      roles: names.map(roles.thenOf).filter((name) => name !== undefined),
      clientRoles: names
        .map(clients.thenOf)
        .flatMap((name) => (name === undefined ? [] : [`${name}/reader`])),
      groups: [{ name: value }],
    })),
  }
  return JSON.stringify({
    realm,
    settings: { displayName: step.title, clientSecretStorage: step.storage },
    roles: step.roles.map(({ n, value, names }) => ({
      ...roles.entryOf(n),
      description: value,
      composites: names
        .filter((other) => other > n)
        .map(roles.thenOf)
        .filter((name) => name !== undefined),
    })),
    ...Object.fromEntries(
      Object.entries(sections).filter(([section]) => !step.without.includes(section)),
    ),
  })
}

/** Made over REST: adopted by the first estate whose files name them. */
const makeByHand = async (realm: string, { byHand }: Step, now: Realm): Promise<void> => {
  const isThere = naming('name', now.roles, [], () => false).nowOf
  for (const { n, name, value } of byHand)
    if (isThere(n) === undefined) {
      const role = { name: `n${n}-${name}`, description: value }
      const made = await admin('POST', `/admin/realms/${realm}/roles`, role)
      expect(made.status, JSON.stringify(made.reply)).toBe(201)
    }
}

describe('the figures of a change', () => {
  it('are the same in plan, apply and history, for a new realm and for generated changes of two estates', async () => {
    const realm = newRealm()
    const estates = { one: estateOf('one'), two: estateOf('two') }
    const total = { ...none }
    const runs = isLong ? 60 : 4
    for (const [i, step] of fc.sample(steps, { numRuns: runs, seed }).entries()) {
      const estate = estates[step.estate as keyof typeof estates]
      if (i > 0) await makeByHand(realm, step, await realmNow(realm))
      estate.write({ 'realm.json': fileOf(realm, step, await realmNow(realm)) })
      const figures = await figuresOf(estate, realm)
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += figures?.[name] ?? 0
    }
    // The generated changes have something of everything.
    expect(Object.entries(total).filter(([, figure]) => figure === 0)).toEqual([])
  })

  it('count a rename once, and tell what follows it and what is only adopted apart', async () => {
    const realm = newRealm()
    const estate = estateOf('one')
    const write = (name: string, renamedFrom?: string, adopted: readonly unknown[] = []) =>
      estate.write({
        'realm.json': JSON.stringify({
          realm,
          roles: [{ name, ...(renamedFrom ? { renamedFrom } : {}) }, ...adopted],
        }),
      })
    write('reader')
    expect(await figuresOf(estate, realm)).toEqual({ ...none, add: 1 })
    for (const [path, body] of [
      ['roles', { name: 'manual' }],
      ['groups', { name: 'staff' }],
    ] as const)
      expect((await admin('POST', `/admin/realms/${realm}/${path}`, body)).status).toBe(201)
    const other = newEstate(world(), {
      'iamctl.yaml': 'source: two\npaths: [realm.json]\n',
      'realm.json': JSON.stringify({
        realm,
        groups: [{ name: 'staff', roles: ['reader'] }, { name: 'guests' }],
      }),
    })
    expect(await figuresOf(other, realm)).toEqual({ ...none, add: 1, change: 1 })
    write('viewer', 'reader', [{ name: 'manual' }])
    expect(await figuresOf(estate, realm)).toEqual({ ...none, change: 1, adopt: 1, along: 1 })
  })

  it('count what goes along with a deleted document, also in a section that the files do not have', async () => {
    const realm = newRealm()
    const estate = estateOf('one')
    const write = (clients: readonly unknown[]) =>
      estate.write({ 'realm.json': JSON.stringify({ realm, clients }) })
    write([{ clientId: 'robot', serviceAccountsEnabled: true }])
    expect(await figuresOf(estate, realm)).toEqual({ ...none, add: 1 })
    const workload = {
      name: 'pipeline',
      issuer: 'https://issuer.example',
      subject: 'repo:acme',
      audience: 'iamctl',
      clientId: 'robot',
    }
    const made = await admin('POST', `/admin/realms/${realm}/workload-identity`, workload)
    expect(made.status, JSON.stringify(made.reply)).toBe(201)
    write([])
    expect(await figuresOf(estate, realm)).toEqual({ ...none, destroy: 2 })
  })
})
