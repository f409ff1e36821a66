/** The result of a verification is cached until the next commit, and never beyond the expiry of the token. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { idleSince } from '#server/tokens/lifetimes.ts'
import { backends } from '../support/backends.ts'
import { openWorld, type TokenWorld } from './fixture.ts'

const soon = 10_000

/** What ends after ten seconds; everything else goes on for longer. */
const ends = ['token', 'grant', 'session', 'idle session'] as const

describe.each(backends)('a token that is asked about again on $name', (backend) => {
  let world: TokenWorld
  let client: TokenClient
  let user: UserRow

  beforeAll(async () => {
    world = await openWorld(backend)
    const redirectUris = ['https://app.example/cb']
    client = await world.client({ clientId: 'app', redirectUris })
    user = await world.user({ username: 'ann' })
  })
  afterAll(() => world.close())

  const tokenThatEnds = async (end?: (typeof ends)[number]): Promise<string> => {
    const { clock, server, issuer } = world
    const {
      storage,
      tokens: { mint },
    } = server.areas
    const session = await world.session(user)
    const { settings } = await issuer()
    const changes = {
      ...(end === 'session' ? { expires_at: clock.now() + soon } : {}),
      ...(end === 'idle session' ? { last_access: idleSince(settings, clock.now()) + soon } : {}),
    }
    if (Object.keys(changes).length > 0) {
      const change = storage.db.updateTable('sessions').set(changes).where('id', '=', session.id)
      await storage.commit([statement(change)])
    }
    const grant = await world.grant(client, user, {
      sid: session.sid,
      ...(end === 'grant' ? { expiresAt: clock.now() + soon } : {}),
    })
    const { token } = await mint.accessToken({
      issuer: await issuer(),
      client: await world.again(client),
      user,
      scope: ['openid'],
      authentication: { grantId: grant.id, sid: session.sid },
    })
    // Tokens live for five minutes.
    if (end === 'token') clock.advance(300_000 - (clock.now() % 1000) - soon)
    return token
  }
  const ask = (issuer: Issuer, token: string) =>
    world.server.areas.tokens.verifier.accessToken(issuer, token)
  const setLocked = async (locked: 0 | 1): Promise<void> => {
    const { db, commit } = world.server.areas.storage
    await commit([statement(db.updateTable('users').set({ locked }).where('id', '=', user.id))])
  }

  it.each(ends)('is not good any more when its %s ends, as of the same moment', async (end) => {
    const token = await tokenThatEnds(end)
    const issuer = await world.issuer()
    const first = await ask(issuer, token)
    expect(first).toMatchObject({ client: { clientId: 'app' }, user: { username: 'ann' } })
    world.clock.advance(soon - 1000)
    expect(await ask(issuer, token)).toBe(first)
    world.clock.advance(1000)
    expect(await ask(issuer, token)).toBeUndefined()
  })

  it('is judged anew when something was committed', async () => {
    const token = await tokenThatEnds()
    expect(await ask(await world.issuer(), token)).toBeDefined()
    await setLocked(1)
    expect(await ask(await world.issuer(), token)).toBeUndefined()
    await setLocked(0)
    expect(await ask(await world.issuer(), token)).toBeDefined()
  })

  it('is another one where only the end of its signature is the same', async () => {
    const token = await tokenThatEnds()
    const issuer = await world.issuer()
    expect(await ask(issuer, token)).toBeDefined()
    const [head, , signature] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ sub: 'admin' })).toString('base64url')
    expect(await ask(issuer, `${head}.${forged}.${signature}`)).toBeUndefined()
  })
})
