/** The state behind a token is read from the database once, and again after every commit. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCopy } from '#server/storage/documents/copy.ts'
import { statement } from '#server/storage/statements.ts'
import { createLiveness, type Liveness } from '#server/tokens/grants/liveness.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const asked = { realm: 'acme', jti: 'a-token', clientId: 'a-client' }

describe.each(backends)('liveness on $name', (backend) => {
  let server: TestServer
  let copy: ReturnType<typeof createCopy>
  let liveness: Liveness
  let questions = 0

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    const { storage } = server.areas
    copy = createCopy(storage, { totalBytes: 1_000_000, kindBytes: 1_000_000 })
    const counting = storage.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        questions += 1
        return result
      },
    })
    liveness = createLiveness(counting)
  })
  afterAll(async () => {
    copy.close()
    await server.close()
  })

  const markNow = async (): Promise<string | undefined> => (await copy.freshMarked('acme'))?.mark
  const ask = async (mark: string | undefined) => {
    const before = questions
    const { revoked } = await liveness(asked, mark)
    return { revoked, asks: questions - before }
  }

  it('keeps an answer while nothing is committed, and asks again at once afterwards', async () => {
    const first = await markNow()
    expect(first).toBeDefined()
    expect(await ask(first)).toEqual({ revoked: false, asks: 1 })
    expect(await ask(first)).toEqual({ revoked: false, asks: 0 })
    const { db } = server.areas.storage
    const row = { jti: asked.jti, realm: 'acme', expires_at: Date.now() + 60_000 }
    await server.areas.storage.append([statement(db.insertInto('revoked_tokens').values(row))])
    const second = await markNow()
    expect(second).not.toBe(first)
    expect(await ask(second)).toEqual({ revoked: true, asks: 1 })
  })

  it('gives the same view until the next commit, so that what was found out is kept by it', async () => {
    await copy.freshMarked('acme')
    const first = await copy.freshMarked('acme')
    expect(await copy.freshMarked('acme')).toBe(first)
    const { db } = server.areas.storage
    const row = { jti: 'another-token', realm: 'acme', expires_at: Date.now() + 60_000 }
    await server.areas.storage.append([statement(db.insertInto('revoked_tokens').values(row))])
    expect(await copy.freshMarked('acme')).not.toBe(first)
  })

  it('asks the database where no mark is known', async () => {
    expect(await ask(undefined)).toEqual({ revoked: true, asks: 1 })
    expect(await ask(undefined)).toEqual({ revoked: true, asks: 1 })
  })
})
