import { describe, expect, it } from 'vitest'
import { addressProblem, parseAllowed } from '#server/platform/outgoing/addresses.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { checkUrl } from '#server/platform/outgoing/url.ts'

const nothing = parseAllowed([])
const codeOf = (act: () => unknown): string | undefined => {
  try {
    act()
  } catch (error) {
    if (error instanceof OutgoingError) return error.code
    throw error
  }
  return undefined
}

describe('an address', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['169.254.169.254', 'link-local'],
    ['100.64.0.1', 'carrier-grade-nat'],
    ['100.100.100.200', 'carrier-grade-nat'],
    ['192.0.0.192', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['198.18.0.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['168.63.129.16', 'reserved'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['fec0::1', 'site-local'],
    ['fc00::1', 'unique-local'],
    ['fd00:ec2::254', 'unique-local'],
    ['ff02::1', 'multicast'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:a9fe:a9fe', 'link-local'],
    ['::127.0.0.1', 'reserved'],
    ['::8.8.8.8', 'reserved'],
    ['127.1', 'not understood'],
    ['0177.0.0.1', 'not understood'],
    ['::ffff:0:127.0.0.1', 'rfc6145'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::a9fe:a9fe', 'link-local'],
    ['64:ff9b:1::a00:1', 'rfc6052'],
    ['2002:7f00:1::', '6to4'],
    ['2001:0:7f00:1::', 'teredo'],
    ['2001:db8::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['nonsense', 'not understood'],
    ['', 'not understood'],
  ])('%s is refused as %s', (address, reason) => {
    expect(addressProblem(address, nothing)).toContain(reason)
  })

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])('%s is public', (address) => {
    expect(addressProblem(address, nothing)).toBeUndefined()
  })

  it('is allowed where the operator names its range, and only there', () => {
    const allowed = parseAllowed(['10.1.0.0/16', '192.168.7.7', 'fd00::/8', '::1'])
    const some = [
      '10.1.2.3',
      '192.168.7.7',
      'fd12::1',
      '::1',
      '::ffff:10.1.2.3',
      '64:ff9b::a01:203',
    ]
    const others = ['10.2.0.1', '192.168.7.8', 'fc00::1', '127.0.0.1', '::ffff:10.2.0.1']
    expect(some.filter((address) => addressProblem(address, allowed) !== undefined)).toEqual([])
    expect(others.filter((address) => addressProblem(address, allowed) === undefined)).toEqual([])
  })

  it.each(['10.0.0.0/33', 'https://intern', 'a b', '', '10.0.0.0/'])(
    'cannot be allowed by %j, which is an error',
    (entry) => {
      expect(() => parseAllowed([entry])).toThrow(TypeError)
    },
  )
})

describe('the form of a URL', () => {
  it.each([
    ['https://example.com', undefined],
    ['https://example.com:8443/a?b=c#d', undefined],
    ['https://8.8.8.8/', undefined],
    ['http://example.com', 'outgoing.scheme'],
    ['ftp://example.com', 'outgoing.scheme'],
    ['file:///etc/passwd', 'outgoing.url'],
    ['file://host/etc/passwd', 'outgoing.scheme'],
    ['gopher://127.0.0.1:6379/_x', 'outgoing.scheme'],
    ['data:text/plain,x', 'outgoing.url'],
    ['javascript:alert(1)', 'outgoing.url'],
    ['https://', 'outgoing.url'],
    ['example.com', 'outgoing.url'],
    ['', 'outgoing.url'],
    [`https://example.com/${'a'.repeat(2048)}`, 'outgoing.url'],
    ['https://user@example.com', 'outgoing.url'],
    ['https://user:password@example.com', 'outgoing.url'],
    ['https://:password@example.com', 'outgoing.url'],
    ['https://127.0.0.1', 'outgoing.address'],
    ['https://2130706433', 'outgoing.address'],
    ['https://0x7f000001', 'outgoing.address'],
    ['https://0177.0.0.1', 'outgoing.address'],
    ['https://0x7f.1', 'outgoing.address'],
    ['https://127.1', 'outgoing.address'],
    ['https://0', 'outgoing.address'],
    ['https://127.0.0.1.', 'outgoing.address'],
    ['https://１２７.０.０.１', 'outgoing.address'],
    ['https://127。0。0。1', 'outgoing.address'],
    ['https://%31%32%37.0.0.1', 'outgoing.address'],
    ['https://169.254.169.254/latest/meta-data', 'outgoing.address'],
    ['https://2852039166', 'outgoing.address'],
    ['https://[::]', 'outgoing.address'],
    ['https://[::1]', 'outgoing.address'],
    ['https://[::ffff:127.0.0.1]', 'outgoing.address'],
    ['https://[::ffff:7f00:1]', 'outgoing.address'],
    ['https://[64:ff9b::7f00:1]', 'outgoing.address'],
    ['https://[fd00::1]', 'outgoing.address'],
    ['https://localhost', 'outgoing.address'],
    ['https://LOCALHOST.:8443', 'outgoing.address'],
    ['https://a.localhost', 'outgoing.address'],
  ])('%s gives %s', (url, code) => {
    expect(codeOf(() => checkUrl(url))).toBe(code)
  })

  it('is explained without the credentials, path or query in it', () => {
    const urls = ['ftp', 'https'].map((s) => `${s}://user:hunter2@example.com/secret?token=abc`)
    for (const url of urls) {
      const message = ((): string => {
        try {
          return checkUrl(url).href
        } catch (error) {
          return String(error)
        }
      })()
      expect(message).toMatch(/example\.com/)
      expect(message).not.toMatch(/user:|hunter2|secret|token|abc/)
    }
  })

  it('may name a host or address that the operator allows', () => {
    const rules = {
      schemes: ['http'],
      allowed: parseAllowed(['Intern.Example', '127.0.0.0/8']),
    } as const
    for (const host of ['intern.example', 'INTERN.example.', '127.0.0.1', 'localhost']) {
      expect(checkUrl(`http://${host}:8080/`, rules).port).toBe('8080')
    }
    expect(codeOf(() => checkUrl('http://[::1]/', rules))).toBe('outgoing.address')
  })
})
