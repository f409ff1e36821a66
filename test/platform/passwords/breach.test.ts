import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOutgoing } from '#server/platform/outgoing/client.ts'
import {
  defaultFilterFile,
  kAnonymityEndpoint,
  openFilter,
  openKAnonymityFile,
} from '#server/platform/passwords/breach.ts'
import { buildFilter, writeBreachFilter } from '#server/platform/passwords/build-filter.ts'

const folder = mkdtempSync(join(tmpdir(), 'iamctl-breach-'))
afterAll(() => rmSync(folder, { recursive: true }))
const write = (name: string, content: string | Uint8Array): string => {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

describe('the filter of common passwords', () => {
  const file = join(folder, 'breach.filter')
  beforeAll(() => writeBreachFilter(file))

  it.each(['123456', 'password', 'letmein', 'qwertyuiop', 'PassWord', 'ｐａｓｓｗｏｒｄ'])(
    'knows %s',
    async (password) => {
      expect(await openFilter(file).isBreached(password)).toBe(true)
    },
  )

  it('does not know passwords that nobody used, and none of 20,000 strangers', async () => {
    const filter = openFilter(file)
    const strangers = Array.from({ length: 20_000 }, (_, index) => `stranger ${index} Zq`)
    const answers = await Promise.all(strangers.map((password) => filter.isBreached(password)))
    expect(answers.filter(Boolean)).toEqual([])
    expect(await filter.isBreached('')).toBe(false)
  })

  it('has at least half a million entries in at most 4 MB', () => {
    const { size } = statSync(file)
    expect(size).toBeLessThan(4_000_000)
    expect(size).toBeGreaterThan(500_000 * 3)
  })

  it('errs once in a million at most: it takes no more entries than that allows', async () => {
    const words = Array.from({ length: 500 }, (_, index) => `word ${index}`)
    const small = openFilter(write('small', buildFilter([...words, ...words])))
    const answers = await Promise.all(words.map((word) => small.isBreached(word)))
    expect(answers).toEqual(words.map(() => true))
    expect(statSync(join(folder, 'small')).size).toBe(16 + 65_536 * 4 + 500 * 3)
    expect((statSync(file).size - 16 - 65_536 * 4) / 3 / 2 ** 40).toBeLessThan(1e-6)
  })

  it('is empty when made of nothing', async () => {
    expect(await openFilter(write('empty', buildFilter([]))).isBreached('password')).toBe(false)
  })

  it.each([
    ['an empty file', ''],
    ['another file', 'x'.repeat(300_000)],
    ['a file cut short', buildFilter(['a', 'b']).subarray(0, -1)],
  ])('is not %s, which is refused when opened', (_, content) => {
    expect(() => openFilter(write('wrong', content))).toThrow('npm run build')
  })

  it('is looked for in the package', () => {
    expect(defaultFilterFile()).toBe(join(process.cwd(), 'dist', 'breach.filter'))
  })
})

describe('a file of digests', () => {
  const words = Array.from({ length: 300 }, (_, index) => `word ${index}`)

  it.each([1, 2, 3, 10, 300])('of %i sorted lines is searched on disk', async (number) => {
    const known = words.slice(0, number)
    const lines = known.map((word, index) => `${sha1(word)}:${index ** 3 + 1}`).sort()
    for (const end of ['\n', '\r\n']) {
      const check = openKAnonymityFile(write('digests', lines.map((line) => line + end).join('')))
      const answers = await Promise.all(known.map((word) => check.isBreached(word)))
      expect(answers).toEqual(known.map(() => true))
      const others = await Promise.all(words.map((word) => check.isBreached(`${word}?`)))
      expect(others).toEqual(words.map(() => false))
    }
  })

  it('may be in lower case and end without a line break', async () => {
    const lines = words.map((word) => `${sha1(word).toLowerCase()}:1`).sort()
    const check = openKAnonymityFile(write('lower', lines.join('\n')))
    const answers = await Promise.all(words.map((word) => check.isBreached(word)))
    expect(answers).toEqual(words.map(() => true))
  })

  it('takes the normalised password', async () => {
    const check = openKAnonymityFile(write('normal', `${sha1('password')}:3\n`))
    expect(await check.isBreached('ｐａｓｓｗｏｒｄ')).toBe(true)
  })

  it.each(['', 'password\n', `${'A'.repeat(32)}:1\n`])('is not %j', (content) => {
    expect(() => openKAnonymityFile(write('other', content))).toThrow('SHA1HEX:count')
  })
})

describe('a k-anonymity service', () => {
  const outgoing = createOutgoing({ allowHttp: true, allowPrivate: ['127.0.0.1'] })
  const requests: { path: string | undefined; padding: unknown }[] = []
  const warnings: string[] = []
  let status = 200
  const server = createServer((request, response) => {
    requests.push({ path: request.url, padding: request.headers['add-padding'] })
    const entries = [
      `${'0'.repeat(35)}:12`,
      `${sha1('known').slice(5)}:7`,
      `${sha1('padding').slice(5)}:0`,
    ]
    response.writeHead(status).end(entries.join('\r\n'))
  })
  const check = () => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    return kAnonymityEndpoint(`http://127.0.0.1:${port}/range/`, outgoing, (text) =>
      warnings.push(text),
    )
  }
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await outgoing.close()
    await new Promise((resolve) => server.close(resolve))
  })

  it('is told five digits of the digest and asked for padding', async () => {
    expect(await check().isBreached('known')).toBe(true)
    expect(requests).toEqual([{ path: `/range/${sha1('known').slice(0, 5)}`, padding: 'true' }])
  })

  it('is not believed about padding, nor about other passwords', async () => {
    expect(await check().isBreached('padding')).toBe(false)
    expect(await check().isBreached('unknown')).toBe(false)
    expect(warnings).toEqual([])
  })

  it('does not stop anybody when it fails, but says so without the password', async () => {
    status = 503
    expect(await check().isBreached('known')).toBe(false)
    const refused = kAnonymityEndpoint('http://10.0.0.1/range', outgoing, (text) =>
      warnings.push(text),
    )
    expect(await refused.isBreached('known')).toBe(false)
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toContain('503')
    expect(warnings.join()).not.toMatch(new RegExp(`\\bknown|${sha1('known').slice(0, 5)}`))
  })
})
