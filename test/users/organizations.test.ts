/** Which organizations an address belongs to. */

import { describe, expect, it } from 'vitest'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { organizationsByDomain } from '#server/users/organizations/organizations.ts'
import { newUserRow } from '#server/users/user-record.ts'

const organization = (alias: string, body: object) =>
  ({
    id: alias,
    kind: 'organization',
    key: alias,
    body: { alias, ...body },
  }) as unknown as StoredDocument

const documents = [
  organization('globex', {
    domains: [
      { name: 'Globex.example', verified: true },
      { name: 'xn--mnchen-3ya.example', verified: true },
      { name: 'claimed.example' },
    ],
  }),
  organization('asleep', { enabled: false, domains: [{ name: 'asleep.example', verified: true }] }),
  organization('both', { domains: [{ name: 'claimed.example', verified: true }] }),
]
const view = { list: async () => documents } as unknown as RealmView

const aliasesOf = async (
  email: string | null,
  { emailVerified = true, managed = false } = {},
): Promise<string[]> => {
  const identity = { id: 'u', realm: 'r', now: 0, managed }
  const user = newUserRow({ username: 'u', email, emailVerified }, identity)
  return (await organizationsByDomain(view, user)).map(({ alias }) => alias)
}

describe('an address belongs to an organization', () => {
  it.each([
    'a@globex.example',
    'A@GLOBEX.example',
    'a@xn--mnchen-3ya.example',
    'a@XN--MNCHEN-3YA.example',
  ])('by its domain in whatever spelling: %s', async (email) => {
    expect(await aliasesOf(email)).toEqual(['globex'])
  })

  it.each([
    'a@mail.globex.example',
    'a@notglobex.example',
    'globex.example@evil.example',
    'a@example',
    'a@asleep.example',
    null,
  ])('only by exactly that domain, while it is enabled: %s', async (email) => {
    expect(await aliasesOf(email)).toEqual([])
  })

  it('only where the address is verified, and the domain', async () => {
    expect(await aliasesOf('a@globex.example', { emailVerified: false })).toEqual([])
    expect(await aliasesOf('a@claimed.example')).toEqual(['both'])
  })

  it('unless a file says where the user belongs', async () => {
    expect(await aliasesOf('a@globex.example', { managed: true })).toEqual([])
  })
})
