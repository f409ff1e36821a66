/** Entries of a small directory, and a realm that has it as an identity provider. */

import { createHash } from 'node:crypto'
import { type OidcSite, openIssuer, type Reply, type TestClient } from '../oidc/fixture.ts'
import { hiddenFields } from '../oidc/relying-party.ts'
import type { Backend } from '../support/backends.ts'
import { anonymous } from '../support/processes/browserless.ts'
import type { Answer } from '../support/server.ts'
import type { LdapEntry } from './ldap-server.ts'

export const base = 'ou=people,dc=corp,dc=example'
export const bindDn = 'cn=iamctl,dc=corp,dc=example'
export const bindPassword = 'the password of the bind user'
export const secretOf = (uid: string): string => `password of ${uid}`

export const uuidOf = (text: string): string => {
  const hex = createHash('sha256').update(text).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, 32),
  ].join('-')
}

export const entryOf = (uid: string, attributes: LdapEntry['attributes'] = {}): LdapEntry => ({
  dn: `uid=${uid},${base}`,
  password: secretOf(uid),
  attributes: {
    objectClass: ['inetOrgPerson'],
    uid: [uid],
    mail: [`${uid}@corp.example`],
    givenName: [uid[0]?.toUpperCase() + uid.slice(1)],
    sn: ['Doe'],
    entryUUID: [uuidOf(uid)],
    ...attributes,
  },
})

export const bindUser: LdapEntry = { dn: bindDn, password: bindPassword, attributes: {} }

export interface DirectorySite {
  readonly site: OidcSite
  readonly client: TestClient
  /** Makes or replaces the identity provider. */
  provide(config: object, fields?: object): Promise<Answer>
  grant(username: string, password: string): Promise<Reply>
  /** Through the page of the realm. */
  page(username: string, password: string): Promise<Answer>
  close(): Promise<void>
}

export const openDirectorySite = async (
  backend: Backend,
  options: Parameters<typeof openIssuer>[1] = {},
): Promise<DirectorySite> => {
  const site = await openIssuer(backend, {
    ...options,
    env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', ...options.env },
  })
  const client = await site.client({ clientId: 'old', grantTypes: ['password'], scopes: ['email'] })
  const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
    site.server.admin.send(method, `/admin/realms/${realmOf(site)}${path}`, body)
  return {
    site,
    client,
    provide: async (config, fields = {}) => {
      const doc = {
        alias: 'corp',
        protocol: 'ldap',
        displayName: 'Corp Directory',
        ...fields,
        config,
      }
      const alias = doc.alias
      const before = await admin('GET', `/identity-providers/${alias}`)
      return before.status === 200
        ? admin('PUT', `/identity-providers/${alias}`, doc)
        : admin('POST', '/identity-providers', doc)
    },
    grant: (username, password) =>
      site.post('/token', {
        grant_type: 'password',
        client_id: client.clientId,
        client_secret: client.secret,
        username,
        password,
        scope: 'openid email',
      }),
    page: async (username, password) => {
      const browser = anonymous(site.server.baseUrl)
      const path = `/realms/${realmOf(site)}/login`
      const { body } = await browser.send('GET', path)
      const form = new URLSearchParams({ ...hiddenFields(String(body)), username, password })
      return browser.send('POST', path, form)
    },
    close: () => site.close(),
  }
}

export const realmOf = ({ issuer }: Pick<OidcSite, 'issuer'>): string =>
  issuer.split('/').at(-1) ?? ''

export const configFor = (url: string): Record<string, unknown> => ({
  url,
  bindDn,
  bindPassword,
  userSearchBase: base,
})
