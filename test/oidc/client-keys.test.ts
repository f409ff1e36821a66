/** Keys of clients that are published at an address: fetched when needed, rotation picked up, never at a sender's pace. */

import { exportJWK, generateKeyPair, type JWK, type JWTVerifyGetKey } from 'jose'
import { describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/client.ts'
import { createClientKeys } from '#server/oidc/client-keys.ts'
import type { TokenClient } from '#server/tokens/client.ts'

const jwksUri = 'https://client.example/jwks'
const client = { doc: { jwksUri } as ClientDoc } as TokenClient
const make = async (kid: string): Promise<JWK> => ({
  ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
  kid,
})

const open = (answer: () => { status: number; body: string }) => {
  let now = 0
  const asked: string[] = []
  const clientKeys = createClientKeys({
    clock: { now: () => now },
    outgoing: {
      request: async ({ url }) => {
        asked.push(url)
        const { status, body } = answer()
        return { status, headers: {}, body: Buffer.from(body) }
      },
    },
  })
  const find = (kid: string): ReturnType<JWTVerifyGetKey> =>
    clientKeys(client)({ alg: 'ES256', kid }, { payload: '', signature: '' })
  return {
    asked,
    find,
    wait: (ms: number) => {
      now += ms
    },
  }
}

describe('keys that a client publishes', () => {
  it('are fetched once for many assertions', async () => {
    const body = JSON.stringify({ keys: [await make('a')] })
    const { asked, find } = open(() => ({ status: 200, body }))
    await Promise.all([find('a'), find('a'), find('a')])
    await find('a')
    expect(asked).toEqual([jwksUri])
  })

  it('are fetched again when a new key is used, and old ones are forgotten', async () => {
    let keys = [await make('a')]
    const { asked, find, wait } = open(() => ({ status: 200, body: JSON.stringify({ keys }) }))
    await find('a')
    keys = [await make('b')]
    wait(11_000)
    await find('b')
    expect(asked.length).toBe(2)
    await expect(find('a')).rejects.toThrow()
  })

  it('are not fetched for every unknown key id', async () => {
    const body = JSON.stringify({ keys: [await make('a')] })
    const { asked, find, wait } = open(() => ({ status: 200, body }))
    for (let i = 0; i < 50; i += 1) await expect(find(`unknown-${i}`)).rejects.toThrow()
    expect(asked.length).toBe(1)
    wait(11_000)
    for (let i = 0; i < 50; i += 1) await expect(find(`unknown-${i}`)).rejects.toThrow()
    expect(asked.length).toBe(2)
  })

  it.each([
    { status: 404, body: '{"keys":[]}' },
    { status: 302, body: '' },
    { status: 200, body: 'not json' },
    { status: 200, body: '{"keys":"none"}' },
  ])('are none where the answer is $status $body, and are asked for again', async (answer) => {
    const { asked, find } = open(() => answer)
    await expect(find('a')).rejects.toMatchObject({ code: 'ERR_JWKS_INVALID' })
    await expect(find('a')).rejects.toMatchObject({ code: 'ERR_JWKS_INVALID' })
    expect(asked.length).toBe(2)
  })
})
