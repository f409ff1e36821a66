/** Patterns of the password policy: matched in linear time, refused when written where the engine has no such syntax. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../../support/backends.ts'
import { newHome } from '../../../support/processes/cli.ts'
import { adminPassword, startServer, type TestServer } from '../../../support/server.ts'

describe.each(backends)('password patterns on $name', (backend) => {
  let server: TestServer
  let base: string
  let userId: string
  beforeAll(async () => {
    server = await startServer(backend, { listen: true })
    base = await server.createRealm('acme')
    const { body } = await server.admin.send('POST', `${base}/users`, { username: 'ann' })
    userId = body.userId
  })
  afterAll(() => server.close())

  const setPattern = async (regexPattern: string) =>
    server.admin.send('PUT', `${base}/settings`, {
      passwordPolicy: { regexPattern, breachCheck: false },
    })
  const setPassword = (newPassword: string) =>
    server.admin.send('PUT', `${base}/users/${userId}/password`, { newPassword })

  it.each(['(?=.*\\d).+', '(?!x).+', '(?<=a)b', '(.)\\1', '.{300}.{301}'])(
    'refuses %s with the field and what to do',
    async (pattern) => {
      const { status, body } = await setPattern(pattern)
      expect(status).toBe(400)
      expect(body.errors).toEqual([
        {
          field: '/passwordPolicy/regexPattern',
          code: 'format',
          message: expect.stringMatching(/^cannot be used as a pattern: .*; ask for kinds of/),
        },
      ])
    },
  )

  it('decides where a backtracking engine does not come to an answer', async () => {
    // The first alternative has 2^60 ways to fail before the second one fits.
    expect((await setPattern('(?:(?:a+)+!|a+b)')).status).toBe(200)
    expect((await setPassword(`${'a'.repeat(60)}b`)).status).toBe(204)
    const { status, body } = await setPassword(`${'a'.repeat(60)}c`)
    expect(status).toBe(400)
    expect(body.errors[0]).toMatchObject({ code: 'password.regexPattern' })
  })

  it('refuses every password while a pattern of an earlier version is stored, and doctor says so', async () => {
    const { storage } = server.areas
    const settings = storage.db
      .selectFrom('documents')
      .select(['id', 'key', 'body'])
      .where('realm', '=', 'acme')
      .where('kind', '=', 'settings')
    expect((await setPattern('never-mind-[a-z0-9-]+')).status).toBe(200)
    const { id, key, body } = await settings.executeTakeFirstOrThrow()
    expect(body).toContain('never-mind-[a-z0-9-]+')
    const earlier = body.replace('never-mind-[a-z0-9-]+', '(?=.*x)never-mind-[a-z0-9-]+')
    await storage.commit([
      statement(storage.db.updateTable('documents').set({ body: earlier }).where('id', '=', id)),
      ...touchStatements(storage, 'acme', [{ kind: 'settings', key }]),
    ])
    const refused = await setPassword(`never-mind-x${newId()}`)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toEqual([
      {
        field: '/newPassword',
        code: 'password.regexPattern',
        message: expect.stringContaining('an administrator must replace it'),
      },
    ])

    const home = newHome({ IAMCTL_SERVER: server.baseUrl, IAMCTL_REALM: 'acme' })
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword }
    const { stdout } = await home.run(['doctor', '-o', 'json'], { env })
    home.remove()
    expect(JSON.parse(stdout).findings).toContainEqual({
      check: 'password-pattern',
      status: 'warning',
      message: expect.stringContaining('every new password is refused'),
      remedy: expect.stringContaining('replace the pattern'),
    })

    expect((await setPattern('never-mind-[a-z0-9-]+')).status).toBe(200)
    expect((await setPassword(`never-mind-x${newId()}`)).status).toBe(204)
  })
})
