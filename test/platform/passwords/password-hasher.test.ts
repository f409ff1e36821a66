import { describe, expect, it } from 'vitest'
import { loadEngine, type PasswordEngine } from '#server/platform/passwords/engine.ts'
import { createHasher, HasherBusyError } from '#server/platform/passwords/hasher.ts'

/** An engine that answers when told to, and remembers how many calls it had at once. */
function handEngine() {
  const calls: { password: string; finish: () => void }[] = []
  let running = 0
  let most = 0
  const call = <T>(password: string, result: T): Promise<T> => {
    running += 1
    most = Math.max(most, running)
    return new Promise((resolve) => {
      const finish = () => {
        running -= 1
        resolve(result)
      }
      calls.push({ password, finish })
    })
  }
  const engine: PasswordEngine = {
    name: 'hand',
    hash: (password) => call(password, `hash of ${password}`),
    verify: (_, password) => call(password, true),
  }
  return { engine, calls, most: () => most }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const phc = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

describe('the hasher', () => {
  it('runs no more at once than it may, in the order of arrival, and serves all', async () => {
    const { engine, calls, most } = handEngine()
    const hasher = createHasher(engine, { concurrency: 2 })
    const words = Array.from({ length: 20 }, (_, index) => `word ${index}`)
    let late: Promise<string> | undefined
    const results = Promise.all(words.map((word) => hasher.hash(word)))
    for (let done = 0; done < words.length; done += 1) {
      await turn()
      expect(calls).toHaveLength(Math.min(done + 2, done > 5 ? 21 : 20))
      calls[done]?.finish()
      // One that arrives just as a place is handed on must queue behind the others.
      if (done === 5) late = hasher.hash('late')
    }
    await turn()
    calls[20]?.finish()
    expect(await results).toEqual(words.map((word) => `hash of ${word}`))
    expect(await late).toBe('hash of late')
    expect(calls.map((call) => call.password)).toEqual([...words, 'late'])
    expect(most()).toBe(2)
  })

  it('gives an engine as many as it takes', async () => {
    const { engine, calls } = handEngine()
    const hasher = createHasher({ ...engine, perCore: 2 }, { concurrency: 2 })
    const hashes = Promise.all(['a', 'b', 'c', 'd', 'e'].map((word) => hasher.hash(word)))
    await turn()
    expect(calls).toHaveLength(4)
    for (let done = 0; done < 5; done += 1) {
      calls[done]?.finish()
      await turn()
    }
    expect(await hashes).toHaveLength(5)
  })

  it('turns work away when too much waits, and takes it again later', async () => {
    const { engine, calls } = handEngine()
    const hasher = createHasher(engine, { concurrency: 1, maxQueued: 2 })
    const taken = ['a', 'b', 'c'].map((word) => hasher.hash(word))
    await expect(hasher.hash('d')).rejects.toBeInstanceOf(HasherBusyError)
    await expect(hasher.verify(phc, 'd')).rejects.toBeInstanceOf(HasherBusyError)
    await expect(hasher.verifyDecoy('d')).rejects.toBeInstanceOf(HasherBusyError)
    calls[0]?.finish()
    await taken[0]
    const later = hasher.hash('e')
    for (let at = 1; at < 4; at += 1) {
      await turn()
      calls[at]?.finish()
    }
    expect(await later).toBe('hash of e')
    await Promise.all(taken)
  })

  it('goes on after work that failed', async () => {
    const engine: PasswordEngine = {
      name: 'broken',
      hash: () => Promise.reject(new Error('no memory')),
      verify: () => Promise.resolve(true),
    }
    const hasher = createHasher(engine, { concurrency: 1 })
    const [failed, next] = [hasher.hash('a'), hasher.verify(phc, 'b')]
    await expect(failed).rejects.toThrow('no memory')
    expect(await next).toBe(true)
  })

  it('closes when the work it took is done, and takes none after', async () => {
    const { engine, calls } = handEngine()
    const hasher = createHasher(engine, { concurrency: 1 })
    const taken = Promise.all([hasher.hash('a'), hasher.hash('b')])
    let isClosed = false
    const closed = hasher.close().then(() => {
      isClosed = true
    })
    await expect(hasher.hash('c')).rejects.toThrow('closed')
    await turn()
    calls[0]?.finish()
    await turn()
    expect(isClosed).toBe(false)
    calls[1]?.finish()
    await closed
    expect(await taken).toEqual(['hash of a', 'hash of b'])
  })
})

describe('the hasher with a real engine', async () => {
  const engine = await loadEngine()
  const hasher = createHasher(engine)

  it('takes passwords that look the same for the same (NFKC)', async () => {
    const stored = await hasher.hash('ﬁancé 12')
    expect(await hasher.verify(stored, 'fiance\u0301 12')).toBe(true)
    expect(await hasher.verify(stored, 'fiance 12')).toBe(false)
  })

  it('asks the engine for a full verification for users that do not exist', async () => {
    const seen: string[] = []
    const watched: PasswordEngine = {
      ...engine,
      verify(text, password) {
        seen.push(text)
        return engine.verify(text, password)
      },
    }
    const watching = createHasher(watched)
    expect(await watching.verifyDecoy('password')).toBe(false)
    expect(await watching.verify('malformed', 'password')).toBe(false)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toBe(seen[1])
    const shape = (text: string) => text.replace(/[^$]+\$[^$]+$/, '')
    expect(shape(seen[0] ?? '')).toBe(shape(await engine.hash('password')))
    expect(hasher.needsRehash(seen[0] ?? '')).toBe(false)
  })

  it.each([
    ['is our own', phc, false],
    ['has more memory and passes', phc.replace('m=19456,t=2', 'm=65536,t=3'), false],
    ['has less memory', phc.replace('m=19456', 'm=7168'), true],
    ['has fewer passes', phc.replace('t=2', 't=1'), true],
    ['is Argon2i', phc.replace('argon2id', 'argon2i'), true],
    ['is of version 16', phc.replace('v=19', 'v=16'), true],
    ['has another order', phc.replace('t=2,p=1', 'p=1,t=2'), true],
    ['is malformed', 'x', true],
  ])('wants a new hash where the old one %s: %s → %s', (_, text, expected) => {
    expect(hasher.needsRehash(text)).toBe(expected)
  })
})
