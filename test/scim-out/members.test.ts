/** Members whom a SCIM target refuses: it is asked what it has, and one member holds up no other. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import type { Asked, Fault } from './scim-peer.ts'
import { openWorld, type World } from './world.ts'

const minute = 60_000

interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: readonly { readonly value: string }[]
}

describe.each(anyBackend)('changes of members at a SCIM target on $name', (backend) => {
  let world: World
  let target: string
  let group: string
  const users = new Map<string, string>()

  beforeEach(async () => {
    world = await openWorld(backend)
    users.clear()
  })
  afterEach(() => world.close())

  const later = async (ms: number): Promise<void> => {
    world.clock.now += ms
    await world.settled()
  }
  const waiting = async (): Promise<number> =>
    (await world.send('GET', `/scim-targets/${target}/status`)).body.groups.waiting
  const member = (name: string, method: 'PUT' | 'DELETE') =>
    world.send(method, `/groups/${group}/members/${users.get(name)}`)

  const fill = async (more: object, ...names: readonly string[]): Promise<void> => {
    target = await world.target(more)
    group = (await world.send('POST', '/groups', { name: 'Crew' })).body.groupId
    for (const name of names) {
      users.set(name, await world.addUser(name))
      await member(name, 'PUT')
    }
    await world.settled()
    expect(world.peer.membersOf('Crew')).toEqual([...names].sort())
    world.peer.asked.length = 0
  }

  const idAt = (name: string): string => world.peer.user(name)?.id ?? ''
  /** Somebody at the target takes a member out. */
  const lose = (...names: readonly string[]): void => {
    const crew = world.peer.group('Crew')
    if (!crew) throw new Error('the target has no such group')
    const ids = names.map(idAt)
    const left = crew['members'].filter((one: { value: string }) => !ids.includes(one.value))
    if (left.length > 0) crew['members'] = left
    else delete crew['members']
  }
  const namedBy = ({ body }: Asked): { readonly op: string; readonly id: string }[] =>
    (body?.Operations ?? []).flatMap(({ op, path, value }: Operation) => {
      const [, id] = /^members\[value eq "(.*)"\]$/.exec(path) ?? []
      if (id !== undefined) return [{ op, id }]
      return path === 'members' ? (value ?? []).map((one) => ({ op, id: one.value })) : []
    })
  /** A target that takes all of a request or nothing, and refuses one about members whom it does not have. */
  const strict =
    (status: number) =>
    (asked: Asked): Fault | undefined => {
      if (asked.method === 'PUT' && asked.path.startsWith('/Groups/')) {
        const given: readonly { readonly value: string }[] = asked.body.members
        const isWhole = given.every(({ value }) => world.peer.users.has(value))
        return isWhole ? undefined : { status, detail: 'no such member' }
      }
      if (asked.method !== 'PATCH' || !asked.path.startsWith('/Groups/')) return undefined
      const there = new Set(
        (world.peer.group('Crew')?.['members'] ?? []).map((one: { value: string }) => one.value),
      )
      const odd = namedBy(asked).some(({ op, id }) =>
        op === 'remove' ? !there.has(id) : !world.peer.users.has(id),
      )
      return odd ? { status, detail: 'no such member' } : undefined
    }

  it.each([400, 404, 409, 422])(
    'removes members although the target lost some of them (%d)',
    async (status) => {
      await fill({}, 'amy', 'bob', 'cid', 'dan')
      lose('amy', 'bob')
      world.peer.fail(strict(status))
      for (const name of ['amy', 'bob', 'cid']) await member(name, 'DELETE')
      await world.settled()
      expect(world.peer.membersOf('Crew')).toEqual(['dan'])
      expect(await waiting()).toBe(0)
      // Nobody is sent again who was there.
      const added = world.peer.asked.flatMap(namedBy).filter(({ op }) => op === 'add')
      expect(added).toEqual([])
    },
  )

  it('counts the last member as removed where the target lost all members', async () => {
    await fill({}, 'amy')
    lose('amy')
    world.peer.fail(strict(400))
    await member('amy', 'DELETE')
    await world.settled()
    expect(await waiting()).toBe(0)
  })

  it('treats unanswered members as members until the target no longer has the user', async () => {
    await fill({}, 'amy', 'bob')
    const silent = (asked: Asked): Fault | undefined => {
      if (asked.method === 'GET' && asked.path.startsWith('/Groups/'))
        return { status: 200, body: { id: world.peer.group('Crew')?.id, displayName: 'Crew' } }
      return asked.method === 'PATCH' ? { status: 400, detail: 'not now' } : undefined
    }
    world.peer.fail(silent)
    await member('amy', 'DELETE')
    await world.settled()
    expect(await waiting()).toBe(1)
    // A target that answers nobody by the id tells nothing of one user.
    world.peer.fail((asked) => (asked.path.startsWith('/Users/') ? { status: 404 } : silent(asked)))
    await later(20 * minute)
    expect(await waiting()).toBe(1)
    world.peer.fail(silent)
    world.peer.users.delete(idAt('amy'))
    await later(20 * minute)
    expect(await waiting()).toBe(0)
  })

  it('removes the other members and retries one that the target refuses to remove', async () => {
    await fill({}, 'amy', 'bob', 'cid')
    const amy = idAt('amy')
    world.peer.fail((asked) =>
      namedBy(asked).some(({ id }) => id === amy)
        ? { status: 400, detail: 'amy owns the group' }
        : undefined,
    )
    for (const name of ['amy', 'bob']) await member(name, 'DELETE')
    await world.settled()
    expect(world.peer.membersOf('Crew')).toEqual(['amy', 'cid'])
    expect(await waiting()).toBe(1)
    const { body } = await world.send('GET', `/scim-targets/${target}/status`)
    expect(JSON.stringify(body)).toContain('amy owns the group')
    world.peer.fail(() => undefined)
    await later(20 * minute)
    expect(world.peer.membersOf('Crew')).toEqual(['cid'])
    expect(await waiting()).toBe(0)
  })

  it.each([400, 404])('provisions a member again whom the target lost (%d)', async (status) => {
    await fill({}, 'amy')
    users.set('bob', await world.addUser('bob'))
    users.set('cid', await world.addUser('cid'))
    await world.settled()
    world.peer.users.delete(idAt('bob'))
    world.peer.fail(strict(status))
    for (const name of ['bob', 'cid']) await member(name, 'PUT')
    await world.settled()
    await later(minute)
    expect(world.peer.membersOf('Crew')).toEqual(['amy', 'bob', 'cid'])
    expect(await waiting()).toBe(0)
  })

  it.each([400, 404, 422])(
    'provisions members again whom a target without PATCH lost (%d), and sends the others',
    async (status) => {
      await fill({ compatibility: 'put' }, 'amy', 'bob', 'dan')
      users.set('cid', await world.addUser('cid'))
      await world.settled()
      // One who is in the group already, and one who joins.
      for (const name of ['bob', 'cid']) world.peer.users.delete(idAt(name))
      world.peer.fail(strict(status))
      await member('dan', 'DELETE')
      await member('cid', 'PUT')
      await world.settled()
      expect(world.peer.membersOf('Crew')).not.toContain('dan')
      for (let i = 0; i < 3; i += 1) await later(6 * minute)
      expect(world.peer.membersOf('Crew')).toEqual(['amy', 'bob', 'cid'])
      expect(world.active()).toEqual(['amy', 'bob', 'cid', 'dan'])
      expect(await waiting()).toBe(0)
    },
  )

  it('limits retries at a target without PATCH that answers no user by id', async () => {
    await fill({ compatibility: 'put' }, 'amy', 'bob')
    users.set('cid', await world.addUser('cid'))
    await world.settled()
    world.peer.asked.length = 0
    world.peer.fail(({ method, path }) => {
      if (method === 'PUT' && path.startsWith('/Groups/')) return { status: 400, detail: 'no' }
      return path.startsWith('/Users/') ? { status: 404 } : undefined
    })
    await member('cid', 'PUT')
    await world.settled()
    for (let i = 0; i < 3; i += 1) await later(20 * minute)
    expect(world.peer.asked.length).toBeLessThan(80)
    expect(world.active()).toEqual(['amy', 'bob', 'cid'])
    world.peer.fail(() => undefined)
    for (let i = 0; i < 3; i += 1) await later(24 * 60 * minute)
    expect(world.peer.membersOf('Crew')).toEqual(['amy', 'bob', 'cid'])
    expect(await waiting()).toBe(0)
  })

  it('limits retries at a target that answers no user by id', async () => {
    await fill({}, 'amy')
    users.set('bob', await world.addUser('bob'))
    await world.settled()
    world.peer.asked.length = 0
    world.peer.fail(({ method, path }) => {
      if (method === 'PATCH' && path.startsWith('/Groups/')) return { status: 400, detail: 'no' }
      return path.startsWith('/Users/') ? { status: 404 } : undefined
    })
    await member('bob', 'PUT')
    await world.settled()
    for (let i = 0; i < 3; i += 1) await later(20 * minute)
    expect(world.peer.asked.length).toBeLessThan(60)
    expect(world.active()).toEqual(['amy', 'bob'])
    world.peer.fail(() => undefined)
    for (let i = 0; i < 3; i += 1) await later(24 * 60 * minute)
    expect(world.peer.membersOf('Crew')).toEqual(['amy', 'bob'])
    expect(await waiting()).toBe(0)
  })

  it.each(['default', 'put'])(
    'removes a deleted user whose account stays (%s)',
    async (compatibility) => {
      await fill({ compatibility }, 'ann', 'ben')
      await world.send('DELETE', `/users/${users.get('ann')}`)
      await world.settled()
      expect(world.active()).toEqual(['ben'])
      expect(world.peer.membersOf('Crew')).toEqual(['ben'])
      // Another person of that name gets the account.
      await world.addUser('ann')
      await world.settled()
      expect(world.active()).toEqual(['ann', 'ben'])
      expect(world.peer.membersOf('Crew')).toEqual(['ben'])
    },
  )

  it('waits with the removal of a deleted user where the target refuses it', async () => {
    await fill({}, 'ann', 'ben')
    let isRefused = true
    world.peer.fail(({ method, path }) =>
      isRefused && method === 'PATCH' && path.startsWith('/Groups') ? { status: 400 } : undefined,
    )
    await world.send('DELETE', `/users/${users.get('ann')}`)
    await world.settled()
    expect([world.active(), world.peer.membersOf('Crew')]).toEqual([['ben'], ['ann', 'ben']])
    isRefused = false
    await later(20 * minute)
    expect(world.peer.membersOf('Crew')).toEqual(['ben'])
  })

  it.each(['default', 'put'])(
    'takes a user into its groups again whom the target lost and gets again (%s)',
    async (compatibility) => {
      await fill({ compatibility }, 'amy', 'bob')
      lose('bob')
      world.peer.users.delete(idAt('bob'))
      await world.changeUser(users.get('bob') ?? '', { lastName: 'Again' })
      await world.settled()
      expect(world.peer.user('bob')?.['name'].familyName).toBe('Again')
      expect(world.peer.membersOf('Crew')).toEqual(['amy', 'bob'])
      expect(await waiting()).toBe(0)
    },
  )

  it('creates a group again with its members where the target deleted it', async () => {
    await fill({}, 'amy', 'bob')
    world.peer.groups.clear()
    await member('amy', 'DELETE')
    await world.settled()
    expect(world.peer.membersOf('Crew')).toEqual(['bob'])
    expect(await waiting()).toBe(0)
  })

  it('asks AWS for each member by a filter, since AWS answers groups without members', async () => {
    await fill({ compatibility: 'aws' }, 'amy', 'bob', 'cid')
    lose('amy')
    const refuse = strict(400)
    world.peer.fail((asked) => {
      const filter = new URLSearchParams(asked.query).get('filter') ?? ''
      const [, id = '', user] = /^id eq "(.*)" and members eq "(.*)"$/.exec(filter) ?? []
      if (user === undefined) return refuse(asked)
      const members = world.peer.groups.get(id)?.['members'] ?? []
      const isMember = members.some((one: { value: string }) => one.value === user)
      const Resources = isMember ? [{ id, displayName: 'Crew', members: [] }] : []
      return { status: 200, body: { totalResults: Resources.length, Resources } }
    })
    for (const name of ['amy', 'bob']) await member(name, 'DELETE')
    await world.settled()
    expect(world.peer.membersOf('Crew')).toEqual(['cid'])
    expect(await waiting()).toBe(0)
  })

  describe('of a group whose members are more than 4 MiB', () => {
    const strangers = Array.from({ length: 30_000 }, (_, n) => ({
      value: `stranger-${n}`.padEnd(150, 'x'),
    }))
    const large = (): Fault => {
      const crew = world.peer.group('Crew')
      return {
        status: 200,
        body: { ...crew, members: [...(crew?.['members'] ?? []), ...strangers] },
      }
    }
    const hasMembers = ({ path, query }: Asked): boolean =>
      path.startsWith('/Groups') && !query.includes('excludedAttributes=members')

    it('are sent once, to a target that answers each change with the whole group', async () => {
      await fill({}, 'ada', 'bea')
      world.peer.fail(({ method }) => (method === 'PATCH' ? large() : undefined))
      users.set('cyd', await world.addUser('cyd'))
      await member('cyd', 'PUT')
      await member('ada', 'DELETE')
      await world.settled()
      await later(10 * minute)
      expect(await waiting()).toBe(0)
      expect(world.peer.asked.flatMap(namedBy)).toEqual([
        { op: 'add', id: idAt('cyd') },
        { op: 'remove', id: idAt('ada') },
      ])
    })

    it('are read where a change is refused', async () => {
      await fill({}, 'ada', 'bea')
      lose('ada')
      const refuse = strict(400)
      world.peer.fail((asked) =>
        asked.method === 'GET' && hasMembers(asked) ? large() : refuse(asked),
      )
      await member('ada', 'DELETE')
      await world.settled()
      expect(await waiting()).toBe(0)
    })

    it('are not asked for where the group is found by its name', async () => {
      await fill({}, 'ada')
      const [crew] = [...world.peer.groups.values()]
      await world.send('DELETE', `/scim-targets/${target}`)
      world.peer.fail((asked) =>
        asked.method === 'GET' && hasMembers(asked)
          ? { status: 200, body: 'x'.repeat(5_000_000) }
          : undefined,
      )
      target = await world.target()
      await world.settled()
      expect(await waiting()).toBe(0)
      expect([...world.peer.groups.keys()]).toEqual([crew?.id])
    })

    it('holds up no other resource where it cannot be read', async () => {
      await fill({}, 'ada', 'bea')
      lose('ada')
      const refuse = strict(400)
      world.peer.fail((asked) =>
        asked.method === 'GET' && hasMembers(asked)
          ? { status: 200, body: 'x'.repeat(20_000_000) }
          : refuse(asked),
      )
      await member('ada', 'DELETE')
      await world.send('POST', '/groups', { name: 'Zeta' })
      await world.settled()
      expect(await waiting()).toBe(1)
      expect(world.peer.group('Zeta')).toBeDefined()
    })
  })
})
