/**
 * Clients that write without end, each to documents of its own, and know what must be there: everything that was
 * acknowledged, and of the write that was under way when the server died either all or nothing.
 */

import { type Expected, moved, namesOf, readUserLine, userLine } from './expected-state.ts'
import type { Browserless } from './processes/browserless.ts'
import type { Random } from './run/chance.ts'

export interface Writer {
  /** Before the hyphen in all its names. */
  readonly prefix: string
  /** As acknowledged. */
  readonly state: Expected
  /** As it is if the last write happened too; the same where its answer came. */
  readonly underWay: Expected
  readonly acknowledged: number
  /** Writes until the server is gone; throws when it answers anything but success. */
  run(admin: Browserless): Promise<void>
  /** Goes on from what was found. */
  resume(found: Expected): void
}

/** A write, the status that acknowledges it, and the state that it leads to. */
interface Step {
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly status: number
  readonly after: Expected
}

/** What a step is chosen with. */
interface Choice {
  readonly state: Expected
  readonly base: string
  readonly random: Random
  /** A name that nothing of this writer had before. */
  readonly fresh: () => string
}

const pick = <T>(list: readonly T[], random: Random): T | undefined =>
  list[Math.floor(random() * list.length)]

const segment = encodeURIComponent

/** A kind whose documents are made, changed, renamed and deleted alike. */
const documentSteps = (
  kind: string,
  section: string,
  bodyOf: (name: string, stamp: string) => object,
) => {
  return ({ state, base, random, fresh }: Choice): Step => {
    const path = `${base}/${section}`
    const dice = random()
    const stamp = fresh()
    const name = pick(namesOf(state, kind), random)
    if (name === undefined || dice < 0.4) {
      // Now and then a group within a group.
      const parent = kind === 'group' && name !== undefined && dice < 0.15 ? `${name}/` : ''
      const made = parent + fresh()
      const after = { ...state, [`${kind} ${made}`]: stamp }
      return { method: 'POST', path, body: bodyOf(made, stamp), status: 201, after }
    }
    const one = `${path}/${segment(kind === 'group' ? `/${name}` : name)}`
    if (dice > 0.8)
      return { method: 'DELETE', path: one, status: 204, after: moved(state, kind, name, null) }
    const renamed = dice > 0.7 ? name.replace(/[^/]+$/, fresh()) : name
    const after = { ...moved(state, kind, name, renamed), [`${kind} ${renamed}`]: stamp }
    return { method: 'PUT', path: one, body: bodyOf(renamed, stamp), status: 200, after }
  }
}

const role = documentSteps('role', 'roles', (name, description) => ({ name, description }))

const group = documentSteps('group', 'groups', (path, description) => {
  const cut = path.lastIndexOf('/')
  const parent = cut < 0 ? {} : { parentId: `/${path.slice(0, cut)}` }
  return { name: path.slice(cut + 1), description, ...parent }
})

const client = documentSteps('client', 'clients', (clientId, description) => ({
  clientId,
  description,
  scopes: ['profile', 'email'],
}))

const webhook = documentSteps('webhook', 'webhooks', (name, stamp) => ({
  name,
  url: `https://hook.example/${stamp}`,
  eventTypes: '*',
  secret: `the secret of ${stamp}`,
  // No request is sent: there is no such receiver.
  enabled: false,
}))

const clientRole = (choice: Choice): Step => {
  const { state, base, random, fresh } = choice
  const owner = pick(namesOf(state, 'client'), random)
  if (owner === undefined) return client(choice)
  const [name, description] = [fresh(), fresh()]
  const after = { ...state, [`client-role ${owner}/${name}`]: description }
  const path = `${base}/clients/${segment(owner)}/roles`
  return { method: 'POST', path, body: { name, description }, status: 201, after }
}

const user = ({ state, base, random, fresh }: Choice): Step => {
  const dice = random()
  const next = fresh()
  const name = pick(namesOf(state, 'user'), random)
  if (name === undefined || dice < 0.3) {
    const username = fresh()
    const body = { username, firstName: next, email: `${username}@mail.example` }
    const after = { ...state, [`user ${username}`]: userLine(next, []) }
    return { method: 'POST', path: `${base}/users`, body, status: 201, after }
  }
  const path = `${base}/users/${segment(name)}`
  const { stamp, roles } = readUserLine(state[`user ${name}`] ?? '')
  const becomes = (text: string, held: readonly string[]): Expected => ({
    ...state,
    [`user ${name}`]: userLine(text, held),
  })
  if (dice < 0.5) {
    const body = { username: name, firstName: next }
    return { method: 'PUT', path, body, status: 200, after: becomes(next, roles) }
  }
  const others = namesOf(state, 'role').filter((one) => !roles.includes(one))
  const gained = pick(others, random)
  if (dice < 0.75 && gained !== undefined) {
    const after = becomes(stamp, [...roles, gained])
    return { method: 'POST', path: `${path}/roles`, body: { name: gained }, status: 204, after }
  }
  const lost = pick(roles, random)
  if (dice < 0.9 && lost !== undefined) {
    const kept = roles.filter((one) => one !== lost)
    const one = `${path}/roles/${segment(lost)}`
    return { method: 'DELETE', path: one, status: 204, after: becomes(stamp, kept) }
  }
  return { method: 'DELETE', path, status: 204, after: moved(state, 'user', name, null) }
}

const realm = ({ state, random, fresh }: Choice): Step => {
  const name = pick(namesOf(state, 'realm'), random)
  if (name !== undefined && random() < 0.4) {
    const after = moved(state, 'realm', name, null)
    return { method: 'DELETE', path: `/admin/realms/${name}`, status: 204, after }
  }
  const made = fresh()
  const after = { ...state, [`realm ${made}`]: 'made' }
  return { method: 'POST', path: '/admin/realms', body: { realm: made }, status: 201, after }
}

const inRealm = [role, group, client, clientRole, webhook, user, user]

/** `of` names the realm that it writes to, or is null for a writer that makes and deletes realms. */
export const createWriter = (prefix: string, of: string | null, random: Random): Writer => {
  let state: Expected = {}
  let underWay: Expected = state
  let count = 0
  let acknowledged = 0
  const fresh = (): string => {
    count += 1
    return `${prefix}-${count}`
  }
  const nextStep = (): Step => {
    const kind = of === null ? realm : (pick(inRealm, random) ?? role)
    return kind({ state, base: `/admin/realms/${of}`, random, fresh })
  }

  return {
    prefix,
    get state() {
      return state
    },
    get underWay() {
      return underWay
    },
    get acknowledged() {
      return acknowledged
    },
    run: async (admin) => {
      for (;;) {
        const { method, path, body, status, after } = nextStep()
        underWay = after
        const answer = await admin.send(method, path, body).catch((error: unknown) => {
          // What fetch throws when there is no answer.
          if (error instanceof TypeError) return undefined
          throw error
        })
        if (answer === undefined) return
        if (answer.status !== status)
          throw new Error(
            `${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${JSON.stringify(answer.body)}`,
          )
        state = after
        acknowledged += 1
      }
    },
    resume: (found) => {
      state = found
      underWay = found
    },
  }
}
