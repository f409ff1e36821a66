import { pbkdf2Sync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { importedUsers } from '#cli/load/imported-users.ts'
import { parseForeign, verifyForeign } from '#server/platform/passwords/foreign.ts'

const salt = Buffer.from('0123456789abcdef')
const keycloakUser = (username: string, algorithm: string, digest: string, size: number) => ({
  id: 'f3a1',
  createdTimestamp: 1,
  username,
  emailVerified: true,
  totp: false,
  groups: ['/staff'],
  realmRoles: [],
  requiredActions: ['UPDATE_PASSWORD', 'VOODOO'],
  attributes: { team: ['blue'] },
  credentials: [
    {
      id: 'c1',
      type: 'password',
      secretData: JSON.stringify({
        value: pbkdf2Sync('secret', salt, 1000, size, digest).toString('base64'),
        salt: salt.toString('base64'),
        additionalParameters: {},
      }),
      credentialData: JSON.stringify({ hashIterations: 1000, algorithm }),
    },
    { type: 'otp', secretData: '{"value":"x"}', credentialData: '{}' },
  ],
})

describe('users to be imported', () => {
  it('come as lines, as a list, or as an object with users', () => {
    const rows = [{ username: 'a' }, { username: 'b' }]
    const forms = [
      rows.map((row) => JSON.stringify(row)).join('\n\n'),
      JSON.stringify(rows),
      JSON.stringify({ realm: 'x', users: rows }),
    ]
    for (const form of forms) expect(importedUsers('f', form).users).toEqual(rows)
    expect(importedUsers('f', '{"username":"a"}').users).toEqual([{ username: 'a' }])
  })

  it('of Keycloak keep their fields and passwords, and it is told what they lose', async () => {
    const users = [
      keycloakUser('old', 'pbkdf2', 'sha1', 64),
      keycloakUser('mid', 'pbkdf2-sha256', 'sha256', 64),
      keycloakUser('new', 'pbkdf2-sha512', 'sha512', 64),
    ]
    const found = importedUsers('f', JSON.stringify({ realm: 'x', users }))
    expect(found.leftOut).toEqual(
      new Map([
        ['requiredActions', 3],
        ['credentials', 3],
        ['groups', 3],
      ]),
    )
    for (const [index, user] of found.users.entries()) {
      const { credentials, ...fields } = user as unknown as {
        credentials: [{ type: string; value: string }]
      }
      expect(fields).toEqual({
        username: users[index]?.username,
        emailVerified: true,
        attributes: { team: ['blue'] },
        requiredActions: ['UPDATE_PASSWORD'],
      })
      const hash = parseForeign(credentials[0].value)
      if (!hash) throw new Error(`${credentials[0].value} is not understood`)
      const never = () => Promise.reject(new Error('no bcrypt here'))
      expect(await verifyForeign(hash, 'secret', never)).toBe(true)
    }
  })

  it('of a newer Keycloak bring Argon2 hashes', () => {
    const row = {
      username: 'a',
      credentials: [
        {
          type: 'password',
          secretData: '{"value":"AAAA==","salt":"BBBB="}',
          credentialData: JSON.stringify({
            hashIterations: 5,
            algorithm: 'argon2',
            additionalParameters: { memory: ['7168'], type: ['id'], parallelism: ['1'] },
          }),
        },
      ],
    }
    expect(importedUsers('f', JSON.stringify([row])).users[0]?.['credentials']).toEqual([
      { type: 'password', value: '$argon2id$v=19$m=7168,t=5,p=1$BBBB$AAAA' },
    ])
  })

  it('that cannot be read are named by their line', () => {
    expect(() => importedUsers('f.ndjson', '{"username":"a"}\n{')).toThrow('line 2 is not JSON')
  })
})
