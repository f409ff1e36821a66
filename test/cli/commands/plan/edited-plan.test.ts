/** A saved plan that was edited, with a recomputed digest: hidden changes and missing bindings are refused. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../../support/processes/cli.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

// biome-ignore lint/suspicious/noExplicitAny: a test edits what a plan has, whatever that is
type Saved = any

const roles = (realm: string, names: readonly string[], more = ''): string =>
  `realm: ${realm}\nroles:\n${names.map((name) => `  - { name: ${name}, description: first }\n`).join('')}${more}`

const edit = ({ folder }: Estate, change: (plan: Saved) => void): void => {
  const file = join(folder, 'saved.plan')
  const { digest: _, ...plan } = JSON.parse(readFileSync(file, 'utf8')) as Saved
  change(plan)
  const digest = createHash('sha256').update(JSON.stringify(plan)).digest('hex')
  writeFileSync(file, JSON.stringify({ ...plan, digest }))
}

const names = ['one', 'two', 'three', 'four']

/** A realm with four roles, and a plan that changes the first and deletes the last. */
const prepared = async (guard = 20): Promise<{ realm: string; estate: Estate }> => {
  const realm = newRealm()
  const estate = newEstate(world(), {
    'iamctl.yaml': `source: edited\npaths: [realm.yaml]\nguards: { maxDeletions: ${guard} }\n`,
    'realm.yaml': roles(realm, names),
  })
  expect((await estate.run('apply --auto-approve')).code).toBe(0)
  const changed = roles(realm, names.slice(0, 3)).replace('first', 'second')
  estate.write({ 'realm.yaml': changed })
  expect((await estate.run('plan --out saved.plan')).code).toBe(0)
  return { realm, estate }
}

const rolesOf = async (realm: string): Promise<Record<string, unknown>> => {
  const { body } = await world().admin.send('GET', `/admin/realms/${realm}/roles`)
  const mine = (body as { name: string; description: unknown }[]).filter(({ name }) =>
    names.includes(name),
  )
  return Object.fromEntries(mine.map(({ name, description }) => [name, description]))
}

const before = { one: 'first', two: 'first', three: 'first', four: 'first' }

const of = (plan: Saved, key: string): Saved =>
  plan.realms[0].changes.find((change: Saved) => change.key === key)

describe('an edited plan', () => {
  it('is applied where the edit changes nothing: the file is no secret', async () => {
    const { realm, estate } = await prepared()
    edit(estate, (plan) => {
      plan.createdAt = '2020-01-01T00:00:00.000Z'
    })
    const { code, stderr } = await estate.run('apply --plan saved.plan --auto-approve')
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    expect(await rolesOf(realm)).toEqual({ one: 'second', two: 'first', three: 'first' })
  })

  it('is applied where references follow a rename and go with a deletion, which the plan shows alone', async () => {
    const realm = newRealm()
    const holder = (all: string): string => `groups:\n  - { name: Staff, roles: [${all}] }\n`
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: edited\npaths: [realm.yaml]\n',
      'realm.yaml': roles(realm, ['one', 'two'], holder('one, two')),
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    const renamed = `realm: ${realm}\nroles:\n  - { name: three, renamedFrom: one, description: first }\n`
    estate.write({ 'realm.yaml': renamed + holder('three') })
    expect((await estate.run('plan --out saved.plan')).code).toBe(0)
    const { code, stderr } = await estate.run('apply --plan saved.plan --auto-approve')
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    expect(await rolesOf(realm)).toEqual({ three: 'first' })
  })

  const edits: Readonly<Record<string, readonly [number, (plan: Saved) => void]>> = {
    'another server': [
      1,
      (plan) => {
        plan.server = 'https://id.example'
      },
    ],
    'another source': [
      3,
      (plan) => {
        plan.realms[0].source = 'default'
      },
    ],
    'another base revision': [
      6,
      (plan) => {
        plan.realms[0].baseRevision -= 1
      },
    ],
    'a revision that is not there yet': [
      6,
      (plan) => {
        plan.realms[0].baseRevision += 5
      },
    ],
    'another document than the fields say': [
      3,
      (plan) => {
        of(plan, 'one').doc.description = 'x'
      },
    ],
    'a change that is hidden by what was before': [
      3,
      (plan) => {
        const one = of(plan, 'one')
        one.doc.permissions = ['realm-admin']
        one.before.permissions = ['realm-admin']
      },
    ],
    'a change that looks like no change': [
      3,
      (plan) => {
        const one = of(plan, 'one')
        Object.assign(one, { action: 'adopt', fields: [], before: one.doc })
      },
    ],
    'a deletion that looks like a change': [
      3,
      (plan) => {
        Object.assign(of(plan, 'four'), { action: 'update' })
      },
    ],
    'a deletion that is called a creation': [
      3,
      (plan) => {
        Object.assign(of(plan, 'four'), { action: 'create', before: null })
      },
    ],
    'a change of an unknown document': [
      6,
      (plan) => {
        of(plan, 'one').ifHash = 'x'.repeat(64)
      },
    ],
    'a secret from a credential of iamctl': [
      3,
      (plan) => {
        of(plan, 'one').secrets = [
          { pointer: '/x', change: 'set', source: { from: 'env', name: 'IAMCTL_PASSWORD' } },
        ]
      },
    ],
    'a secret from a file elsewhere': [
      3,
      (plan) => {
        of(plan, 'one').secrets = [
          { pointer: '/x', change: 'set', source: { from: 'file', path: '../../etc/hostname' } },
        ]
      },
    ],
    'a secret from a command': [
      3,
      (plan) => {
        of(plan, 'one').secrets = [
          { pointer: '/x', change: 'set', source: { from: 'exec', command: 'id' } },
        ]
      },
    ],
    'an unknown member': [
      3,
      (plan) => {
        plan.realms[0].takeOver = true
      },
    ],
  }

  it('is refused, and changes nothing: each of these edits', async () => {
    const { realm, estate } = await prepared()
    const saved = readFileSync(join(estate.folder, 'saved.plan'), 'utf8')
    for (const [name, [code, change]] of Object.entries(edits)) {
      estate.write({ 'saved.plan': saved })
      edit(estate, change)
      const result = await estate.run('apply --plan saved.plan --auto-approve')
      const stderr = result.code === code ? '' : result.stderr
      expect({ name, code: result.code, stderr }).toEqual({ name, code, stderr: '' })
      expect({ name, roles: await rolesOf(realm) }).toEqual({ name, roles: before })
    }
    // The plan itself was good all the time.
    estate.write({ 'saved.plan': saved })
    expect((await estate.run('apply --plan saved.plan --auto-approve')).code).toBe(0)
  })

  it('cannot raise the limit of deletions, nor count fewer of them', async () => {
    const { realm, estate } = await prepared(0)
    edit(estate, (plan) => {
      plan.guards.maxDeletions = 1000
      plan.realms[0].summary.destroy = 0
    })
    const { code, stderr } = await estate.run('apply --plan saved.plan --auto-approve')
    expect(code).toBe(7)
    expect(stderr).toContain('the plan destroys 1 documents, and the limit is 0')
    expect(await rolesOf(realm)).toEqual(before)
  })

  it('cannot raise it above the usual limit either', async () => {
    const realm = newRealm()
    const many = Array.from({ length: 25 }, (_, i) => `role-${i}`)
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: edited\npaths: [realm.yaml]\n',
      'realm.yaml': roles(realm, many),
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    estate.write({ 'realm.yaml': roles(realm, many.slice(0, 1)) })
    expect((await estate.run('plan --out saved.plan')).code).toBe(0)
    edit(estate, (plan) => {
      plan.guards.maxDeletions = 1000
    })
    expect((await estate.run('apply --plan saved.plan --auto-approve')).code).toBe(7)
  })

  it('cannot hide what goes along with a deletion', async () => {
    const realm = newRealm()
    const client = 'clients:\n  - { clientId: web, roles: [{ name: inner }] }\n'
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: edited\npaths: [realm.yaml]\n',
      'realm.yaml': roles(realm, ['one'], client),
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    estate.write({ 'realm.yaml': roles(realm, ['one'], 'clients: []\n') })
    expect((await estate.run('plan --out saved.plan')).code).toBe(0)
    edit(estate, (plan) => {
      of(plan, 'web').cascades = []
    })
    const { code, stderr } = await estate.run('apply --plan saved.plan --auto-approve')
    expect(code).toBe(3)
    expect(stderr).toContain('does not show its change of')
  })

  it('is shown without what a terminal obeys', async () => {
    const { estate } = await prepared()
    const evil = '\u001b[2J\u009b31m\u202eX'
    edit(estate, (plan) => {
      plan.realms[0].warnings.push({ code: evil, message: evil })
      plan.realms[0].unmanaged.push({ kind: 'role', key: evil, owner: evil })
      of(plan, 'four').before.description = evil
      of(plan, 'four').lastChange = {
        revision: 1,
        at: 1,
        actor: evil,
        actorName: evil,
        source: evil,
        message: evil,
      }
    })
    const command = [process.execPath, bundle, 'apply', '--plan', 'saved.plan', '--auto-approve']
    const terminal = onTerminal(command, { env: estate.env, cwd: estate.folder })
    await terminal.exited
    expect(terminal.screen()).not.toMatch(/\u009b|\u202e/)
    expect(terminal.screen()).not.toContain('\u001b[2J')
  })
})
