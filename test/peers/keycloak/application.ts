/** An Express application as its authors wrote it for Keycloak: keycloak-connect, sessions in memory, a path for each guard. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import Keycloak from 'keycloak-connect'

const require = createRequire(import.meta.url)

interface Incoming {
  readonly headers: Readonly<Record<string, string | undefined>>
  session?: Record<string, unknown>
  readonly kauth?: { readonly grant?: { readonly access_token: { readonly content: object } } }
  readonly permissions?: unknown
}

interface Outgoing {
  json(body: unknown): void
  cookie(name: string, value: string): void
}

type Handler = (request: Incoming, response: Outgoing, next: () => void) => void

interface Express {
  use(...handlers: unknown[]): void
  get(path: string, ...handlers: unknown[]): void
  listen(port: number, host: string): import('node:http').Server
}

export interface Application {
  readonly origin: string
  readonly close: () => void
}

const sessions = (): Handler => {
  const kept = new Map<string, Record<string, unknown>>()
  return (request, response, next) => {
    const known = /(?:^|; )application=([^;]+)/.exec(request.headers['cookie'] ?? '')?.[1]
    const id = known ?? randomUUID()
    const session = kept.get(id) ?? { id }
    kept.set(id, session)
    if (known === undefined) response.cookie('application', id)
    request.session = session
    next()
  }
}

const told: Handler = ({ kauth, permissions }, response) => {
  response.json({ token: kauth?.grant?.access_token.content, permissions })
}

/** The paths that lead back from a sign-in are registered by their full address. */
export const protectedPaths = ['/page', '/readers', '/editors', '/admins'] as const

export const openApplication = async (config: {
  readonly server: string
  readonly realm: string
  readonly clientId: string
  readonly secret: string
  readonly port: number
}): Promise<Application> => {
  const express = require('express') as () => Express
  const app = express()
  const keycloak = new Keycloak({ store: { get: () => undefined } }, {
    'auth-server-url': config.server,
    realm: config.realm,
    resource: config.clientId,
    credentials: { secret: config.secret },
    'ssl-required': 'none',
    'confidential-port': 0,
    'min-time-between-jwks-requests': 0,
  } as never)
  const enforce = (permission: string, options?: object): unknown =>
    keycloak.enforcer(permission, options as never)
  app.use(sessions())
  app.use(...(keycloak.middleware() as unknown[]))
  app.get('/', (_: Incoming, response: Outgoing) => response.json('welcome'))
  app.get('/page', keycloak.protect(), told)
  app.get('/readers', keycloak.protect('realm:reader'), told)
  app.get('/editors', keycloak.protect('editor'), told)
  app.get('/admins', keycloak.protect('realm:nobody-has-this'), told)
  app.get('/orders', enforce('order:read'), told)
  app.get('/orders/place', enforce('order:place'), told)
  app.get('/orders/token', enforce('order:read', { response_mode: 'token' }), told)
  app.get('/orders/place/token', enforce('order:place', { response_mode: 'token' }), told)
  const claims = () => ({ 'user.agent': ['a browser'] })
  app.get('/orders/claims', enforce('order:read', { claims }), told)
  const listening = app.listen(config.port, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, close: () => listening.close() }
}
