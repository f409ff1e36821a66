/**
 * Random requests about users and groups against a small model of RFC 7643 and RFC 7644: after each one the server has what the model
 * has, and lists find, sort and page it as the model does.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { foldCase as fold } from '#schemas/text/fold-case.ts'
import { enterprise, groupSchema, openSite, userSchema } from '../sender.ts'
import { texts } from './filters.ts'
import { compact, isEmpty, type Json, patched } from './patched.ts'
import { type Command, command, makes } from './requests.ts'

const site = openSite()

const told = ({ schemas: _, id: __, meta: ___, groups: ____, ...rest }: Json): Json => rest

/** The parts of a request with the addresses of one user. */
const withDomain = <T>(part: T, domain: string): T =>
  JSON.parse(JSON.stringify(part).replaceAll(/"([\w.]+)@"/g, `"$1@${domain}"`))

interface User {
  readonly id: string
  state: Json
  etag: string
}
interface Group {
  readonly id: string
  displayName: string
  members: Set<string>
  etag: string
}
const domainOf = (userName: string): string => `${userName}.example`

let run = 0

const createModel = () => {
  run += 1
  const prefix = `m${run}-`
  const users: User[] = []
  const groups: Group[] = []
  let made = 0
  const at = <T>(all: readonly T[], n: number): T | undefined => all[n % Math.max(1, all.length)]

  const check = async (
    user: User,
    answer: { status: number; body: Json; headers: Json },
    status: number,
    isSame: boolean,
  ) => {
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    expect(told(answer.body)).toEqual(user.state)
    const etag = String(answer.headers['etag'])
    expect(answer.body['meta'].version).toBe(etag)
    expect(etag === user.etag).toBe(isSame)
    const belongs = groups
      .filter(({ members }) => members.has(user.id))
      .map(({ id }) => id)
      .sort()
    expect((answer.body['groups'] ?? []).map((one: Json) => one['value'])).toEqual(belongs)
    const schemas = [userSchema, ...(user.state[enterprise] ? [enterprise] : [])]
    expect(answer.body['schemas']).toEqual(schemas)
    user.etag = etag
  }
  const look = async (user: User) => site.scim.send('GET', `/Users/${user.id}`)
  const isEqual = (a: Json, b: Json): boolean => {
    try {
      expect(a).toEqual(b)
      return true
    } catch {
      return false
    }
  }

  const act = async (one: Command): Promise<void> => {
    switch (one.do) {
      case 'make': {
        made += 1
        const userName = `${prefix}${made}`
        const given = withDomain(one.person, domainOf(userName))
        const body = await site.scim.user(userName, given)
        const user: User = {
          id: body.id,
          state: compact({ active: true, ...given, userName }),
          etag: body.meta.version,
        }
        users.push(user)
        await check(user, await look(user), 200, true)
        return
      }
      case 'put': {
        const user = at(users, one.at)
        if (!user) return
        const given = withDomain(one.person, domainOf(user.state['userName']))
        const after = compact({
          active: user.state['active'],
          ...given,
          userName: user.state['userName'],
        })
        const isSame = isEqual(after, user.state)
        const stale = await site.scim.send(
          'PUT',
          `/Users/${user.id}`,
          { schemas: [userSchema], ...after },
          { 'if-match': 'W/"x"' },
        )
        expect(stale.status).toBe(412)
        const answer = await site.scim.send(
          'PUT',
          `/Users/${user.id}`,
          { schemas: [userSchema], ...after, ...given },
          { 'if-match': user.etag },
        )
        user.state = after
        await check(user, answer, 200, isSame)
        return
      }
      case 'patch': {
        const user = at(users, one.at)
        if (!user) return
        let after: Json | undefined = user.state
        const changes = one.changes.map((part) =>
          withDomain(part, domainOf(user.state['userName'])),
        )
        for (const part of changes) after = after && patched(after, part)
        const answer = await site.scim.patch(`/Users/${user.id}`, ...changes)
        if (after === undefined) {
          expect([answer.status, answer.body.scimType]).toEqual([400, 'noTarget'])
          await check(user, await look(user), 200, true)
          return
        }
        const isSame = isEqual(after, user.state)
        user.state = after
        await check(user, answer, 200, isSame)
        const cached = await site.scim.send('GET', `/Users/${user.id}`, undefined, {
          'if-none-match': user.etag,
        })
        expect(cached.status).toBe(304)
        return
      }
      case 'delete': {
        const user = at(users, one.at)
        if (!user) return
        expect((await site.scim.send('DELETE', `/Users/${user.id}`)).status).toBe(204)
        expect((await look(user)).status).toBe(404)
        users.splice(users.indexOf(user), 1)
        for (const group of groups) if (group.members.delete(user.id)) group.etag = ''
        return
      }
      case 'read': {
        const user = at(users, one.at)
        if (!user) return
        const names = one.names.join(',')
        const query = new URLSearchParams(
          one.excluded ? { excludedAttributes: names } : { attributes: names },
        )
        const { body } = await site.scim.send('GET', `/Users/${user.id}?${query}`)
        const has = (name: string) => one.names.some((n) => n.toLowerCase() === name.toLowerCase())
        const keep = (name: string) => has(name) !== one.excluded
        const { state } = user
        const part = (whole: string, inner: string, value: Json | undefined): Json | undefined => {
          if (value === undefined) return undefined
          if (has(whole)) return one.excluded ? undefined : value
          if (!has(`${whole}.${inner}`) && !has(`${whole}:${inner}`))
            return one.excluded ? value : undefined
          return Object.fromEntries(
            Object.entries(value).filter(([name]) => (name === inner) !== one.excluded),
          )
        }
        const numbers = (state['phoneNumbers'] ?? [])
          .map((value: Json) => part('phoneNumbers', 'value', value))
          .filter((value: unknown) => !isEmpty(value))
        expect(told(body)).toEqual(
          compact({
            ...Object.fromEntries(Object.entries(state).filter(([name]) => keep(name))),
            name: part('name', 'givenName', state['name']),
            phoneNumbers: numbers,
            [enterprise]: part(enterprise, 'department', state[enterprise]),
          }),
        )
        expect(body.id).toBe(user.id)
        return
      }
      case 'group': {
        const displayName = `${prefix}${one.name}`
        const members = new Set(one.members.flatMap((n) => at(users, n)?.id ?? []))
        const answer = await site.scim.send('POST', '/Groups', {
          schemas: [groupSchema],
          displayName,
          members: [...members].map((value) => ({ value })),
        })
        if (groups.some((group) => fold(group.displayName) === fold(displayName))) {
          expect([answer.status, answer.body.scimType]).toEqual([409, 'uniqueness'])
          return
        }
        expect(answer.status, JSON.stringify(answer.body)).toBe(201)
        groups.push({ id: answer.body.id, displayName, members, etag: answer.body.meta.version })
        for (const user of users)
          if (members.has(user.id)) user.etag = (await look(user)).body.meta.version
        break
      }
      case 'members': {
        const group = at(groups, one.at)
        if (!group) return
        const ids = new Set(one.members.flatMap((n) => at(users, n)?.id ?? []))
        if (ids.size === 0) return
        const before = group.members
        const value = [...ids].map((id) => ({ value: id }))
        const operations =
          one.op === 'remove'
            ? [...ids].map((id) => ({ op: 'remove', path: `members[value eq "${id}"]` }))
            : [{ op: one.op, path: 'members', value }]
        const answer = await site.scim.patch(`/Groups/${group.id}`, ...operations)
        expect(answer.status).toBe(200)
        group.members =
          one.op === 'replace'
            ? ids
            : one.op === 'add'
              ? new Set([...before, ...ids])
              : new Set([...before].filter((id) => !ids.has(id)))
        const isSame =
          before.size === group.members.size && [...before].every((id) => group.members.has(id))
        if (group.etag !== '') expect(answer.body.meta.version === group.etag).toBe(isSame)
        group.etag = answer.body.meta.version
        for (const user of users)
          if (before.has(user.id) !== group.members.has(user.id))
            user.etag = (await look(user)).body.meta.version
        break
      }
      case 'ungroup': {
        const group = at(groups, one.at)
        if (!group) return
        expect((await site.scim.send('DELETE', `/Groups/${group.id}`)).status).toBe(204)
        groups.splice(groups.indexOf(group), 1)
        for (const user of users)
          if (group.members.has(user.id)) user.etag = (await look(user)).body.meta.version
        break
      }
      default: {
        const { sortBy, descending, count } = one
        const all = `userName sw "${prefix}" and ${one.filter.text}`
        const wanted = users.filter(({ state }) => one.filter.test(state))
        const found: Json[] = []
        for (let startIndex = 1; ; startIndex += count) {
          const asked = {
            filter: all,
            startIndex,
            count,
            ...(sortBy ? { sortBy, sortOrder: descending ? 'descending' : 'ascending' } : {}),
          }
          const { status, body } = one.byPost
            ? await site.scim.send('POST', '/Users/.search', {
                schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
                ...asked,
              })
            : await site.scim.send(
                'GET',
                `/Users?${new URLSearchParams(asked as unknown as Record<string, string>)}`,
              )
          expect(status, JSON.stringify([body, all])).toBe(200)
          expect(body.totalResults, all).toBe(wanted.length)
          expect(body.itemsPerPage).toBe(body.Resources.length)
          found.push(...body.Resources)
          if (body.Resources.length === 0) break
        }
        expect(found.map(({ id }) => id).sort()).toEqual(wanted.map(({ id }) => id).sort())
        const byId = new Map(users.map((user) => [user.id, user.state]))
        for (const resource of found) expect(told(resource)).toEqual(byId.get(resource['id']))
        if (!sortBy || sortBy === 'addresses.country') return
        const keyOf = (state: Json): string | undefined => {
          if (sortBy !== 'phoneNumbers') {
            const [key] = texts[sortBy]?.(state) ?? []
            return key === undefined ? undefined : fold(key)
          }
          const list: Json[] = state['phoneNumbers'] ?? []
          const chosen = list.find(({ primary }) => primary === true) ?? list[0]
          return chosen ? fold(chosen['value']) : undefined
        }
        const keys = found.map((resource) => keyOf(resource))
        const sorted = keys.toSorted((a, b) => {
          if (a === b) return 0
          const order = a === undefined ? 1 : b === undefined || a < b ? -1 : 1
          return descending ? -order : order
        })
        const rest = keys.filter((key) => key === undefined)
        const ordered = sorted.filter((key) => key !== undefined)
        expect(keys).toEqual(descending ? [...rest, ...ordered] : [...ordered, ...rest])
      }
    }
    for (const group of groups) {
      const { body } = await site.scim.send('GET', `/Groups/${group.id}`)
      expect(body.displayName).toBe(group.displayName)
      expect((body.members ?? []).map((m: Json) => m['value']).sort()).toEqual(
        [...group.members].sort(),
      )
    }
  }
  const end = async () => {
    for (const { id } of groups) await site.scim.send('DELETE', `/Groups/${id}`)
    for (const { id } of users) await site.scim.send('DELETE', `/Users/${id}`)
  }
  return { act, end }
}

it('users and groups are after any requests what the model has', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(makes, { minLength: 1, maxLength: 4 }),
      fc.array(command, { minLength: 5, maxLength: 25 }),
      async (made, commands) => {
        const model = createModel()
        try {
          for (const one of [...made, ...commands]) await model.act(one)
        } finally {
          await model.end()
        }
      },
    ),
    { numRuns: 25 },
  )
}, 120_000)
