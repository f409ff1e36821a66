import { pbkdf2Sync } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Diagnostic } from '#cli/diagnostics.ts'
import { CommandError, exitCodes } from '#cli/exit.ts'
import { importedUsers } from '#cli/load/users/imported-users.ts'
import type { Doc } from '#schemas/json-schema.ts'
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
    { type: 'webauthn', secretData: '{}', credentialData: '{}' },
  ],
})

const read = (content: string, name = 'f.ndjson', from = 'acme') =>
  importedUsers({ name, open: () => Readable.from([content], { objectMode: false }) }, from)
const collected = async (users: AsyncIterable<Doc>): Promise<Doc[]> => {
  const all: Doc[] = []
  for await (const user of users) all.push(user)
  return all
}
const usersOf = async (content: string): Promise<Doc[]> => collected((await read(content)).users())
/** What was wrong, as `file:line:column message`. */
const faultsOf = async (content: string): Promise<string[]> => {
  const error = await read(content).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(CommandError)
  expect(error.exitCode).toBe(exitCodes.invalid)
  return error.diagnostics.map(({ place, message }: Diagnostic) =>
    place ? `${place.line}:${place.column} ${message}` : message,
  )
}

describe('users to be imported', () => {
  it('come as lines, as a list, or as an object with users', async () => {
    const rows = [{ username: 'a' }, { username: 'b' }]
    const forms = [
      rows.map((row) => JSON.stringify(row)).join('\n\n'),
      `\uFEFF\r\n${rows.map((row) => JSON.stringify(row)).join('\r\n')}\r\n`,
      JSON.stringify(rows),
      `\uFEFF${JSON.stringify(rows, null, 2)}`,
      JSON.stringify({ realm: 'x', users: rows }),
      JSON.stringify({ realm: 'x', users: rows }, null, 2),
    ]
    for (const form of forms) expect(await usersOf(form)).toEqual(rows)
    expect(await usersOf('{"username":"a"}')).toEqual([{ username: 'a' }])
    expect(await usersOf('{\n"username":"a"\n}')).toEqual([{ username: 'a' }])
  })

  it('come by the line: of many only a few are held at a time', async () => {
    let [made, held, most] = [0, 0, 0]
    async function* lines() {
      for (let n = 0; n < 2000; n += 1) {
        made += 1
        held += 1
        most = Math.max(most, held)
        yield Buffer.from(`{"username":"user-${n}"}\n`)
      }
    }
    const open = () => Readable.from(lines(), { objectMode: false })
    const { count, users } = await importedUsers({ name: 'f', open }, 'acme')
    expect(count).toBe(2000)
    held = 0
    most = 0
    for await (const _ of users()) held -= 1
    expect(most).toBeLessThan(100)
    expect(made).toBeGreaterThanOrEqual(4000)
  })

  it('of Keycloak keep their fields and passwords, and it is told what they lose', async () => {
    const users = [
      keycloakUser('old', 'pbkdf2', 'sha1', 64),
      keycloakUser('mid', 'pbkdf2-sha256', 'sha256', 64),
      keycloakUser('new', 'pbkdf2-sha512', 'sha512', 64),
    ]
    for (const form of [
      JSON.stringify({ realm: 'x', users }),
      users.map((user) => JSON.stringify(user)).join('\n'),
    ]) {
      const found = await read(form)
      expect(found.leftOut).toEqual(
        new Map([
          ['requiredActions', 3],
          ['credentials (webauthn)', 3],
        ]),
      )
      for (const [index, user] of (await collected(found.users())).entries()) {
        const { credentials, ...fields } = user as unknown as {
          credentials: [{ type: string; value: string }]
        }
        expect(fields).toEqual({
          username: users[index]?.username,
          emailVerified: true,
          attributes: { team: ['blue'] },
          requiredActions: ['UPDATE_PASSWORD'],
          groups: ['/staff'],
        })
        const hash = parseForeign(credentials[0].value)
        if (!hash) throw new Error(`${credentials[0].value} is not understood`)
        const never = () => Promise.reject(new Error('no bcrypt here'))
        expect(await verifyForeign(hash, 'secret', never)).toBe(true)
      }
    }
  })

  it('of a newer Keycloak bring Argon2 hashes', async () => {
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
    const [user] = await usersOf(JSON.stringify([row]))
    expect(user?.['credentials']).toEqual([
      { type: 'password', value: '$argon2id$v=19$m=7168,t=5,p=1$BBBB$AAAA' },
    ])
  })

  it('of a whole Keycloak server are those of one realm', async () => {
    const realmOf = (realm: string) => ({
      realm,
      sslRequired: 'external',
      users: [keycloakUser(`of-${realm}`, 'pbkdf2', 'sha1', 64)],
    })
    const realms = [realmOf('master'), realmOf('Old_Shop'), { realm: 'empty', clients: [] }]
    for (const form of [JSON.stringify(realms), JSON.stringify(realms, null, 2)]) {
      const usersIn = async (from: string) => collected((await read(form, 'f.json', from)).users())
      expect(await usersIn('Old_Shop')).toMatchObject([{ username: 'of-Old_Shop' }])
      expect(await usersIn('master')).toMatchObject([{ username: 'of-master' }])
      await expect(usersIn('empty')).rejects.toThrow('f.json has no users')
      await expect(usersIn('acme')).rejects.toThrow(
        'f.json has no realm acme; its realms are master, Old_Shop, empty',
      )
    }
    // One realm needs no name, and one without users is not taken for a user.
    expect(await usersOf(JSON.stringify([realmOf('x')]))).toMatchObject([{ username: 'of-x' }])
    await expect(read('{"realm":"x","clients":[]}')).rejects.toThrow('has no users')
  })

  it('that cannot be read are named by their line, all of them, and not shown', async () => {
    const secret = '$2b$10$abcdefghijklmnopqrstuv'
    const lines = [
      '{"username":"a"}',
      '',
      `{"value":"${secret}"`,
      '["b"]',
      '',
      '{"username":"c"}',
      '7',
    ]
    const faults = await faultsOf(lines.join('\n'))
    const words = 'this is not a user as JSON'
    expect(faults).toEqual([`3:1 ${words}`, `4:1 ${words}`, `7:1 ${words}`])
    const list = await faultsOf(`[\n  { "username": "a" },\n  { "value": "${secret}" x }\n]`)
    expect(list).toEqual(['3:46 this is not JSON'])
    expect(await faultsOf('[{"username":"a"}, 7]')).toEqual([`user 2 of f.ndjson: ${words}`])
    const broken = { credentials: [{ type: 'password', secretData: '{', credentialData: '{}' }] }
    expect(await faultsOf(`{"username":"a"}\n${JSON.stringify(broken)}`)).toEqual([
      '2:1 the credentials are not as Keycloak writes them',
    ])
    await expect(read('\n\n')).rejects.toThrow('f.ndjson')
    await expect(read('[]')).rejects.toThrow('f.ndjson has no users')
  })

  it('that the server refuses are named where they stand in the file, past its empty lines', async () => {
    const { located } = await read('\n{"username":"a"}\n\n\n{"username":"b"}\n')
    const errors = [
      { field: '/line/2/username', code: 'duplicate', message: 'exists already' },
      { field: '/line/1', code: 'json', message: 'broken' },
      { field: '/other', code: 'x', message: 'else' },
    ]
    expect(located(errors)).toMatchObject([
      { place: { line: 5 }, code: 'duplicate', message: 'username: exists already' },
      { place: { line: 2 }, code: 'json', message: 'broken' },
      { message: '/other: else' },
    ])
    const listed = await read('[{"username":"a"}]')
    expect(listed.located(errors.slice(1, 2))).toMatchObject([
      { message: 'user 1 of f.ndjson: broken' },
    ])
  })
})
