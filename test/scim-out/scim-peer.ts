/**
 * A SCIM target by other people: the routers of scimmy on express, with real TLS, a store in memory, and faults on demand. The
 * library has one declaration of resources for a whole process; which store a request means is a matter of its context.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import SCIMMY from 'scimmy'
import SCIMMYRouters from 'scimmy-routers'
import { makeCertificate } from '../platform/outgoing/certificates.ts'

// It has no types.
const express = createRequire(import.meta.url)('express')

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
export type Resource = Record<string, any> & { readonly id: string }

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: string
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly body: any
  readonly authorization: string | undefined
}

/**
 * What goes wrong with a request: an answer instead of the work; `lost`: the work is done and the answer does not arrive; `hang`:
 * no answer at all.
 */
export type Fault =
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly detail?: string
      /** Instead of an error; a text is sent as it is. */
      readonly body?: object | string
    }
  | 'lost'
  | 'hang'

export interface ScimPeer {
  readonly url: string
  readonly certificate: string
  readonly users: Map<string, Resource>
  readonly groups: Map<string, Resource>
  readonly asked: Asked[]
  /** Decides about every request from now on. */
  fail(how: (asked: Asked) => Fault | undefined): void
  /** The only bearer that it takes. */
  token: string
  user(userName: string): Resource | undefined
  group(displayName: string): Resource | undefined
  /** Usernames of the members of a group. */
  membersOf(displayName: string): string[]
  /** Requests that change something. */
  writes(): Asked[]
  close(): Promise<void>
}

interface Store {
  /** Whether names are taken once: a target that takes them twice shows what was created twice. */
  readonly unique: boolean
  readonly users: Map<string, Resource>
  readonly groups: Map<string, Resource>
  nextId: number
}

/**
 * The filter of the library compares usernames by case, which RFC 7643 §4.1.1 does not, and takes microseconds for each user: with
 * 10,000 of them the target would be what a test waits for.
 */
const matching = (
  filter: { readonly expression: string; match(all: readonly Resource[]): Resource[] },
  all: readonly Resource[],
): Resource[] => {
  const [, attribute = '', text] = /^(\w+) eq ("(?:[^"\\]|\\.)*")$/.exec(filter.expression) ?? []
  if (text === undefined) return filter.match(all)
  const value = String(JSON.parse(text)).toLowerCase()
  return all.filter((one) => String(one[attribute]).toLowerCase() === value)
}

const handlersOf = (kind: 'users' | 'groups', unique: string) => ({
  // biome-ignore lint/suspicious/noExplicitAny: the types of the library do not say what a handler gets
  ingress: async (resource: any, data: any, store: Store) => {
    const all = store[kind]
    const key = String(data[unique] ?? '').toLowerCase()
    for (const one of store.unique ? all.values() : [])
      if (one.id !== resource.id && String(one[unique]).toLowerCase() === key)
        throw new SCIMMY.Types.Error(409, 'uniqueness', `${unique} is taken`)
    do store.nextId += 1
    while (all.has(`r${store.nextId}`))
    const id = resource.id ?? `r${store.nextId}`
    if (resource.id !== undefined && !all.has(id))
      throw new SCIMMY.Types.Error(404, null as never, `no ${id}`)
    const made = { ...JSON.parse(JSON.stringify(data)), id }
    all.set(id, made)
    return made
  },
  // biome-ignore lint/suspicious/noExplicitAny: as above
  egress: async (resource: any, store: Store) => {
    const all = [...store[kind].values()]
    if (resource.id !== undefined) {
      const one = store[kind].get(resource.id)
      if (!one) throw new SCIMMY.Types.Error(404, null as never, `no ${resource.id}`)
      return one
    }
    return resource.filter ? matching(resource.filter, all) : all
  },
  // biome-ignore lint/suspicious/noExplicitAny: as above
  degress: async (resource: any, store: Store) => {
    if (!store[kind].delete(resource.id))
      throw new SCIMMY.Types.Error(404, null as never, `no ${resource.id}`)
  },
})

let declared = false

const declare = (): void => {
  if (declared) return
  declared = true
  for (const [type, handlers] of [
    [SCIMMY.Resources.User, handlersOf('users', 'userName')],
    [SCIMMY.Resources.Group, handlersOf('groups', 'displayName')],
  ] as const) {
    // biome-ignore lint/suspicious/noExplicitAny: the types of the library do not say what a handler gets
    const resource = type as any
    SCIMMY.Resources.declare(resource)
    resource.ingress(handlers.ingress).egress(handlers.egress).degress(handlers.degress)
  }
  SCIMMY.Resources.User.extend(SCIMMY.Schemas.EnterpriseUser, false)
}

export const openScimPeer = async (
  options: { readonly unique?: boolean } = {},
): Promise<ScimPeer> => {
  declare()
  const { unique = true } = options
  const store: Store = { unique, users: new Map(), groups: new Map(), nextId: 0 }
  const asked: Asked[] = []
  let failing: (asked: Asked) => Fault | undefined = () => undefined
  const { certificate, key } = makeCertificate(['localhost'])
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate])

  const app = express()
  const peer: ScimPeer = {
    url: '',
    certificate,
    users: store.users,
    groups: store.groups,
    asked,
    fail: (how) => {
      failing = how
    },
    token: 'a token',
    user: (name) => [...store.users.values()].find(({ userName }) => userName === name),
    group: (name) => [...store.groups.values()].find(({ displayName }) => displayName === name),
    membersOf: (name) => {
      const members = (peer.group(name)?.['members'] ?? []) as { value: string }[]
      return members.map(({ value }) => store.users.get(value)?.['userName'] ?? value).sort()
    },
    writes: () => asked.filter(({ method }) => method !== 'GET'),
    close: () =>
      new Promise((resolve) => {
        setDefaultCACertificates(before)
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  app.use(express.json({ type: '*/*', limit: '5mb' }))
  app.use(
    (
      request: IncomingMessage & { body: unknown; path: string },
      response: ServerResponse,
      next: () => void,
    ) => {
      const url = new URL(request.url ?? '', 'https://localhost')
      const one: Asked = {
        method: request.method ?? '',
        path: url.pathname.replace(/^\/scim\/v2/, ''),
        query: url.search,
        body: request.body,
        authorization: request.headers.authorization,
      }
      asked.push(one)
      // The routers write numbers into the query, which is made anew at every look since express 5.
      const query = { ...(request as unknown as { query: object }).query }
      Object.defineProperty(request, 'query', { value: query })
      const fault = failing(one)
      if (fault === 'hang') return
      if (fault === 'lost') {
        response.end = (() => {
          response.destroy()
          return response
        }) as never
        next()
      } else if (fault) {
        response.writeHead(fault.status, {
          'content-type': 'application/scim+json',
          ...fault.headers,
        })
        const error = { status: String(fault.status), detail: fault.detail ?? 'a fault' }
        const { body = error } = fault
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      } else next()
    },
  )
  app.use(
    '/scim/v2',
    new SCIMMYRouters({
      type: 'bearer',
      handler: ((request: { header: (name: string) => string | undefined }) => {
        if (request.header('Authorization') !== `Bearer ${peer.token}`)
          throw new Error('no such token')
        return 'iamctl'
      }) as never,
      context: (() => store) as never,
    }),
  )
  const server = createServer({ key, cert: certificate }, app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(peer, { url: `https://localhost:${port}/scim/v2` })
}
