import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, describeConfig, loadConfig } from '#server/config/index.ts'

const refusal = (sources: Parameters<typeof loadConfig>[0]): string => {
  try {
    loadConfig(sources)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the configuration was accepted')
}

describe('the configuration', () => {
  it('has a default for everything', () => {
    const config = loadConfig({})
    expect(config.http).toEqual({
      host: '127.0.0.1',
      port: 8080,
      baseUrl: 'http://127.0.0.1:8080',
      trustedProxies: [],
    })
    expect(config.runtime).toEqual({
      data: resolve('data'),
      workers: 1,
      logLevel: 'info',
      logMessages: false,
      tuningOff: [],
      exitWithParent: false,
    })
    expect(config.database.url).toBe(`sqlite:${resolve('data', 'iamctl.db')}`)
    expect(config.keys).toEqual({})
    expect(config.bootstrap).toEqual({ username: 'admin' })
    expect(config.limits.bodyLimit).toBe(1_048_576)
  })

  it('takes a flag over a variable over the default', () => {
    const env = { IAMCTL_PORT: '9001', IAMCTL_HOST: '0.0.0.0' }
    expect(loadConfig({ env, flags: { port: '9002' } }).http).toMatchObject({
      host: '0.0.0.0',
      port: 9002,
    })
    expect(loadConfig({ env }).http.port).toBe(9001)
  })

  it('writes messages to the log on this machine only', () => {
    const flags = { logMessages: true }
    expect(loadConfig({ flags }).runtime.logMessages).toBe(true)
    for (const baseUrl of [
      'https://id.example',
      'http://127.0.0.1.evil.example',
      'http://10.0.0.1',
    ])
      expect(() => loadConfig({ flags: { ...flags, baseUrl } })).toThrow('--log-messages')
  })

  it('derives the base URL from the port and the database from the data folder', () => {
    const config = loadConfig({ flags: { port: 9000, data: '/srv/iam' } })
    expect(config.http.baseUrl).toBe('http://127.0.0.1:9000')
    expect(config.database.url).toBe('sqlite:/srv/iam/iamctl.db')
  })

  it('makes the base URL an origin', () => {
    const base = (url: string) => loadConfig({ env: { IAMCTL_BASE_URL: url } }).http.baseUrl
    expect(base('https://ID.example:443/')).toBe('https://id.example')
    expect(base('http://[::1]:8080')).toBe('http://[::1]:8080')
  })

  it('reads lists by their commas', () => {
    const env = { IAMCTL_TRUSTED_PROXIES: '10.0.0.0/8, ::1,', IAMCTL_OUTGOING_ALLOW: 'idp.corp' }
    const config = loadConfig({ env })
    expect(config.http.trustedProxies).toEqual(['10.0.0.0/8', '::1'])
    expect(config.outgoing).toEqual({ allow: ['idp.corp'], allowHttp: false })
  })

  it('treats an empty variable as one that is not set', () => {
    const config = loadConfig({ env: { IAMCTL_PORT: '', IAMCTL_MASTER_KEY: '' } })
    expect(config.http.port).toBe(8080)
    expect(config.keys.key).toBeUndefined()
  })

  it('hands every kind of bootstrap secret over', () => {
    const hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g'
    const env = {
      IAMCTL_BOOTSTRAP_ADMIN_USERNAME: 'root',
      IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH: hash,
    }
    expect(loadConfig({ env }).bootstrap).toEqual({ username: 'root', passwordHash: hash })
  })
})

describe('a configuration that cannot be used is refused with one line', () => {
  it.each<[string, Record<string, string>, string]>([
    ['text as port', { IAMCTL_PORT: 'http' }, '--port (IAMCTL_PORT): must be integer, not "http"'],
    ['hexadecimal port', { IAMCTL_PORT: '0x50' }, '--port (IAMCTL_PORT): must be integer'],
    ['port out of range', { IAMCTL_PORT: '65536' }, '--port (IAMCTL_PORT): must be <= 65535'],
    ['any free port without base URL', { IAMCTL_PORT: '0' }, '--base-url (IAMCTL_BASE_URL)'],
    ['no workers', { IAMCTL_WORKERS: '0' }, '--workers (IAMCTL_WORKERS): must be >= 1'],
    [
      'unknown level',
      { IAMCTL_LOG_LEVEL: 'loud' },
      '--log-level (IAMCTL_LOG_LEVEL): must be one of',
    ],
    [
      'a word as flag',
      { IAMCTL_OUTGOING_ALLOW_HTTP: 'maybe' },
      '(IAMCTL_OUTGOING_ALLOW_HTTP): must',
    ],
    ['a proxy by name', { IAMCTL_TRUSTED_PROXIES: 'proxy' }, '--trusted-proxies (IAMCTL_TRUSTED_'],
    ['a short IPv4 address', { IAMCTL_TRUSTED_PROXIES: '10.1' }, '--trusted-proxies'],
    [
      'a database of another kind',
      { IAMCTL_DATABASE_URL: 'mysql://x' },
      '--database-url (IAMCTL_DA',
    ],
    [
      'SQLite without a file',
      { IAMCTL_DATABASE_URL: 'sqlite:' },
      '--database-url (IAMCTL_DATABASE',
    ],
    ['headers slower than requests', { IAMCTL_HEADERS_TIMEOUT: '61' }, '--headers-timeout'],
    ['two workers on SQLite', { IAMCTL_WORKERS: '2' }, '--workers (IAMCTL_WORKERS): more than one'],
  ])('%s', (_, env, line) => {
    const message = refusal({ env })
    expect(message).toContain(line)
    expect(message).not.toContain('\n')
  })

  it.each([
    'id.example',
    'ftp://id.example',
    'javascript:alert(1)',
    'https://id.example/auth',
    'https://id.example/?',
    'https://id.example/#',
    'https://id.example?x=1',
    'https://user@id.example',
    'https://:secret@id.example',
  ])('the base URL %s', (url) => {
    expect(refusal({ env: { IAMCTL_BASE_URL: url } })).toContain(
      '--base-url (IAMCTL_BASE_URL): must',
    )
  })

  it('workers on PostgreSQL are accepted', () => {
    const env = { IAMCTL_WORKERS: '4', IAMCTL_DATABASE_URL: 'postgres://db/iam' }
    expect(loadConfig({ env }).runtime.workers).toBe(4)
  })

  it.each<[Record<string, string>, string]>([
    [{ IAMCTL_MASTER_KEY: 'a', IAMCTL_MASTER_KEY_FILE: '/k' }, 'IAMCTL_MASTER_KEY_FILE'],
    [{ IAMCTL_BREACH_FILE: '/b', IAMCTL_BREACH_URL: 'https://b.example' }, 'IAMCTL_BREACH_URL'],
    [
      { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: 'a', IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_FILE: '/p' },
      'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_FILE',
    ],
  ])('two sources of one value: %j', (env, name) => {
    expect(refusal({ env })).toContain(`${name}`)
    expect(refusal({ env })).toContain('excludes')
  })

  it('names Kubernetes when it has set the port', () => {
    const env = { IAMCTL_PORT: 'tcp://10.0.0.1:8080' }
    expect(refusal({ env })).toContain('enableServiceLinks')
  })
})

describe('a secret', () => {
  it('is never repeated in a refusal', () => {
    const secret = 'hunter2hunter2'
    for (const env of [
      { IAMCTL_DATABASE_URL: `mysql://root:${secret}@db/x` },
      { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH: secret },
      { IAMCTL_MASTER_KEY: secret, IAMCTL_MASTER_KEY_FILE: '/k' },
      { IAMCTL_WORKERS: '2', IAMCTL_DATABASE_URL: `sqlite:${secret}` },
    ])
      expect(refusal({ env })).not.toContain(secret)
  })

  it('has no flag, because other users of the machine can read flags', () => {
    const rows = describeConfig()
    for (const env of [
      'IAMCTL_MASTER_KEY',
      'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD',
      'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH',
    ])
      expect(rows.find((row) => row.env === env)).toMatchObject({ flag: undefined })
    expect(refusal({ flags: { masterKey: 'x' } })).toContain('masterKey')
  })
})

describe('an unknown variable', () => {
  it.each([
    ['IAMCTL_PROT', 'IAMCTL_PORT'],
    ['IAMCTL_BASEURL', 'IAMCTL_BASE_URL'],
    ['IAMCTL_TRUSTED_PROXY', 'IAMCTL_TRUSTED_PROXIES'],
    ['IAMCTL_DATABSE_URL', 'IAMCTL_DATABASE_URL'],
    ['IAMCTL_ADMIN_PASSWORD', 'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD'],
    ['IAMCTL_MASTERKEY', 'IAMCTL_MASTER_KEY'],
    ['iamctl_port', 'IAMCTL_PORT'],
  ])('%s is taken for %s', (name, meant) => {
    expect(refusal({ env: { [name]: 'x' } })).toContain(`did you mean ${meant}?`)
  })

  it('is left alone when it is none of the server’s', () => {
    const env = Object.fromEntries(
      [
        ...['SERVER', 'REALM', 'USERNAME', 'PASSWORD', 'TOKEN', 'CONTEXT', 'TEST_LONG'],
        ...['SERVICE_HOST', 'SERVICE_PORT', 'PORT_8080_TCP', 'PORT_8080_TCP_ADDR'],
      ].map((name) => [`IAMCTL_${name}`, 'x']),
    )
    expect(loadConfig({ env: { ...env, PATH: '/bin' } }).http.port).toBe(8080)
  })
})

describe('the description of the options', () => {
  it('has one row for each, with flag, variable, default and a sentence', () => {
    const rows = describeConfig()
    expect(rows.find((row) => row.env === 'IAMCTL_BASE_URL')).toMatchObject({
      section: 'http',
      flag: '--base-url <text>',
      type: 'text',
    })
    expect(rows.find((row) => row.env === 'IAMCTL_PORT')).toMatchObject({ default: '8080' })
    expect(rows.find((row) => row.env === 'IAMCTL_OUTGOING_ALLOW_HTTP')).toMatchObject({
      flag: '--outgoing-allow-http',
    })
    for (const row of rows) expect(row.doc, row.env).toMatch(/\.$/)
    expect(new Set(rows.map((row) => row.env)).size).toBe(rows.length)
  })
})
