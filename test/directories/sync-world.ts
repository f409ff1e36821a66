/** A directory and a realm for tests of syncs: each test has a directory document and users of its own. */

import type { Backend } from '../support/backends.ts'
import type { Answer } from '../support/server.ts'
import { type LdapEntry, type LdapServer, type SearchCall, startLdap } from './ldap-server.ts'
import {
  base,
  bindUser,
  configFor,
  type DirectorySite,
  entryOf,
  openDirectorySite,
  realmOf,
} from './people.ts'

export const groupBase = 'ou=groups,dc=corp,dc=example'

export const stamp = (n: number): string => `20261101${String(100000 + n)}Z`

export const person = (uid: string, attributes: LdapEntry['attributes'] = {}): LdapEntry =>
  entryOf(uid, { modifyTimestamp: [stamp(0)], ...attributes })

export const group = (
  cn: string,
  member: readonly string[],
  attributes: LdapEntry['attributes'] = {},
): LdapEntry => ({
  dn: `cn=${cn},${groupBase}`,
  attributes: {
    objectClass: ['groupOfNames'],
    cn: [cn],
    entryUUID: [`group-${cn}`],
    member,
    ...attributes,
  },
})

export const dnOf = (uid: string): string => `uid=${uid},${base}`

/** Whether it is the search of users. */
export const isUsers = ({ base: asked, scope }: SearchCall): boolean =>
  asked === base && scope === 2

const tree: readonly LdapEntry[] = [
  bindUser,
  { dn: base, attributes: { objectClass: ['organizationalUnit'] } },
  { dn: groupBase, attributes: { objectClass: ['organizationalUnit'] } },
]

export const many = Array.from({ length: 30 }, (_, i) => `user-${String(i).padStart(2, '0')}`)

export const counts = ({ body }: Pick<Answer, 'body'>): number[] => [
  body.added,
  body.updated,
  body.removed,
  body.failed,
]

export const openSyncWorld = async (
  backend: Backend,
  options: Parameters<typeof openDirectorySite>[1] = {},
) => {
  const ldap: LdapServer = await startLdap()
  const site: DirectorySite = await openDirectorySite(backend, options)
  let count = 0
  const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
    site.site.server.admin.send(method, `/admin/realms/${realmOf(site.site)}${path}`, body)
  const alias = (): string => `corp-${count}`
  const named = (uid: string): string => `${uid}-${count}`

  return {
    ldap,
    site,
    admin,
    alias,
    named,
    next: (): void => {
      count += 1
      ldap.faults = {}
      ldap.entries = [...tree]
      ldap.forget()
    },
    provide: (config: object = {}, fields: object = {}): Promise<Answer> =>
      site.provide(
        { ...configFor(ldap.url), pageSize: 10, ...config },
        { alias: alias(), ...fields },
      ),
    add: (...uids: string[]): void => {
      ldap.entries.push(...uids.map((uid) => person(named(uid))))
    },
    remove: (uid: string): void => {
      ldap.entries = ldap.entries.filter(({ dn }) => dn !== dnOf(named(uid)))
    },
    /** Replaces the entry of a user. */
    change: (uid: string, attributes: LdapEntry['attributes']): void => {
      ldap.entries = ldap.entries.map((entry) =>
        entry.dn === dnOf(named(uid)) ? person(named(uid), attributes) : entry,
      )
    },
    sync: (query = ''): Promise<Answer> =>
      admin('POST', `/user-federation/${alias()}/sync${query}`),
    user: async (uid: string) => {
      const { body } = await admin('GET', `/users?search=${named(uid)}`)
      return body.find((one: { username: string }) => one.username === named(uid))
    },
    /** All that a sync may change, and the events of it. */
    stored: async (): Promise<string> => {
      const { db } = site.site.server.areas.storage
      const tables = await Promise.all([
        db.selectFrom('users').selectAll().orderBy('id').execute(),
        db.selectFrom('federated_links').selectAll().orderBy('id').execute(),
        db.selectFrom('user_groups').selectAll().orderBy('user_id').orderBy('group_id').execute(),
        db.selectFrom('documents').selectAll().orderBy('id').execute(),
        db.selectFrom('audit_events').select('id').orderBy('id').execute(),
      ])
      return JSON.stringify(tables)
    },
    close: async (): Promise<void> => {
      await site.close()
      await ldap.close()
    },
  }
}

export type SyncWorld = Awaited<ReturnType<typeof openSyncWorld>>
