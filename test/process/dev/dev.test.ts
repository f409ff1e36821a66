/** `iamctl dev`: a realm that follows its files, from the first apply through every save. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { signIn } from '../../support/processes/browserless.ts'
import { temporaryFolder } from '../../support/processes/server-process.ts'
import { clientText, type DevProcess, newEstate, startDev, type Told } from './dev-process.ts'

const example = fileURLToPath(new URL('../../../realms.example', import.meta.url))

const admin = ({ url, told }: DevProcess) => {
  const { username, password } = told('server-ready')[0]?.['admin'] ?? {}
  return signIn(url, 'master', username, password)
}

const nameOfClient = async (dev: DevProcess): Promise<unknown> => {
  const { body } = await (await admin(dev)).send('GET', '/admin/realms/acme/clients/web')
  return body.name
}

const changed = (told: Told): boolean => told['status'] === 'applied'

const usersOf = (told: Told): Record<string, Told> =>
  Object.fromEntries(told['users'].map((user: Told) => [user['username'], user]))

describe('dev', () => {
  it('applies the files, answers, and shows people who can sign in', async () => {
    const dev = await startDev(newEstate())
    expect(await dev.wait('ready')).toMatchObject({ applied: true })
    expect(await dev.wait('synced')).toMatchObject({
      status: 'applied',
      occasion: { why: 'start' },
      realms: [{ realm: 'acme', createRealm: true }],
    })
    const pages = await dev.wait('realms')
    expect(pages['realms'][0]).toMatchObject({
      realm: 'acme',
      signIn: `${dev.url}/realms/acme/login`,
    })
    expect((await fetch(pages['realms'][0].signIn)).status).toBe(200)
    const { alice, bob } = usersOf(pages)
    expect(bob).toMatchObject({ password: 'eleven purple teapots sing' })
    for (const user of [alice, bob])
      await signIn(dev.url, 'acme', user?.['username'], user?.['password'])
    const event = await dev.wait(
      'event',
      ({ event }) => event.type === 'LOGIN_SUCCESS' && event.realm === 'acme',
    )
    expect(event['actorName']).toBe('alice')
    expect((await dev.wait('secrets-made'))['names']).toEqual(['ALICE_PASSWORD'])
    expect(dev.told('secrets-made')).toHaveLength(1)
  })

  it('has the name localhost in its addresses, where browsers offer passkeys', async () => {
    const dev = await startDev(newEstate(), ['--hostname', 'localhost'])
    expect(await dev.wait('ready')).toMatchObject({ applied: true })
    const url = `http://localhost:${dev.port}`
    const [{ signIn: page }] = (await dev.wait('realms'))['realms']
    expect(page).toBe(`${url}/realms/acme/login`)
    const discovery = await fetch(`${url}/realms/acme/.well-known/openid-configuration`)
    expect(await discovery.json()).toMatchObject({ issuer: `${url}/realms/acme` })
  })

  it('tells an application on the same machine of a logout, over plain http', async () => {
    const called = Promise.withResolvers<string>()
    const application = createServer((request, response) => {
      called.resolve(request.url ?? '')
      response.end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void application.close())
    await once(application, 'listening')
    const { port } = application.address() as AddressInfo
    const estate = newEstate()
    const redirectUri = `http://localhost:${port}/callback`
    const logoutUri = `http://localhost:${port}/logout`
    writeFileSync(
      join(estate, 'realms', 'clients.yaml'),
      `realm: acme
clients:
  - clientId: app
    publicClient: true
    grantTypes: [authorization_code]
    redirectUris: ['${redirectUri}']
    backchannelLogoutUri: '${logoutUri}'
`,
    )
    const dev = await startDev(estate)
    expect(await dev.wait('ready')).toMatchObject({ applied: true })
    const { bob } = usersOf(await dev.wait('realms'))
    const person = await signIn(dev.url, 'acme', bob?.['username'], bob?.['password'])
    const app = { client_id: 'app', redirect_uri: redirectUri }
    const code_verifier = 'v'.repeat(43)
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const pkce = { code_challenge, code_challenge_method: 'S256' }
    const query = new URLSearchParams({ ...app, ...pkce, response_type: 'code', scope: 'openid' })
    const { headers } = await person.send('GET', `/realms/acme/authorize?${query}`)
    const code = new URL(String(headers['location'])).searchParams.get('code') ?? ''
    const exchange = { ...app, code, code_verifier, grant_type: 'authorization_code' }
    const form = new URLSearchParams(exchange)
    expect((await person.send('POST', '/realms/acme/token', form)).status).toBe(200)
    const operator = await admin(dev)
    const sessions = '/admin/realms/acme/sessions'
    const [session] = (await operator.send('GET', sessions)).body
    expect((await operator.send('DELETE', `${sessions}/${session.id}`)).status).toBe(204)
    expect(await called.promise).toBe('/logout')
  })

  it('runs the example, which shows every kind', async () => {
    const estate = join(temporaryFolder(), 'estate')
    cpSync(example, estate, { recursive: true })
    // By its name from elsewhere, as `npm start` does.
    const dev = await startDev(join(estate, '..'), ['estate'])
    expect(await dev.wait('ready')).toMatchObject({ applied: true })
    expect((await dev.wait('synced'))['diagnostics']).toEqual([])
    const { alice } = usersOf(await dev.wait('realms'))
    await signIn(dev.url, 'acme', 'alice', alice?.['password'])
  })

  it('applies what is saved, made and taken out, and tells the difference', async () => {
    const estate = newEstate()
    const dev = await startDev(estate)
    await dev.wait('ready')
    const clients = join(estate, 'realms', 'clients.yaml')
    writeFileSync(clients, clientText('Second'))
    const second = await dev.wait('synced', changed, 1)
    expect(second['occasion']).toEqual({ why: 'saved', files: [clients] })
    expect(second['realms'][0].changes).toEqual([
      expect.objectContaining({
        action: 'update',
        kind: 'client',
        key: 'web',
        fields: [{ pointer: '/name', change: 'set', before: 'First', after: 'Second' }],
      }),
    ])
    expect(await nameOfClient(dev)).toBe('Second')

    // As editors save: a new file takes the place of the old one.
    writeFileSync(`${clients}.new`, clientText('Third'))
    renameSync(`${clients}.new`, clients)
    const third = await dev.wait('synced', ({ realms }) => JSON.stringify(realms).includes('Third'))
    expect(third['status']).toBe('applied')
    expect(await nameOfClient(dev)).toBe('Third')

    // Files that are new count as well, and what has gone from them is deleted without asking.
    const roles = join(estate, 'realms', 'roles.yaml')
    writeFileSync(roles, 'realm: acme\nroles: [{ name: one }, { name: two }]\n')
    const isAbout = (action: string) => (told: Told) =>
      changed(told) && JSON.stringify(told['realms']).includes(`"action":"${action}","kind":"role"`)
    await dev.wait('synced', isAbout('create'))
    writeFileSync(roles, 'realm: acme\nroles: [{ name: one }]\n')
    expect(await dev.wait('synced', isAbout('delete'))).toMatchObject({
      realms: [{ summary: { destroy: 1 } }],
    })
  })

  it('follows the file of the estate', async () => {
    const estate = newEstate()
    const dev = await startDev(estate)
    await dev.wait('ready')
    const more = join(estate, 'more')
    cpSync(join(estate, 'realms'), more, { recursive: true })
    rmSync(join(more, 'people.yaml'))
    writeFileSync(join(more, 'clients.yaml'), clientText('Other').replace('acme', 'globex'))
    writeFileSync(join(estate, 'iamctl.yaml'), 'source: test-estate\npaths: [realms, more]\n')
    await dev.wait('realms', ({ realms }) => realms.length === 2)
    writeFileSync(join(more, 'clients.yaml'), clientText('Another').replace('acme', 'globex'))
    await dev.wait('synced', ({ realms }) => JSON.stringify(realms).includes('"Another"'))
  })

  it('waits while files are wrong, tells the line, keeps the last good realm, and goes on when they are right', async () => {
    const estate = newEstate()
    const clients = join(estate, 'realms', 'clients.yaml')
    const text = readFileSync(clients, 'utf8')
    writeFileSync(clients, text.replace('clientId', 'clientIdd'))
    const dev = await startDev(estate)
    expect(await dev.wait('ready')).toMatchObject({ applied: false })
    writeFileSync(clients, text)
    await dev.wait('synced', changed)
    expect(await nameOfClient(dev)).toBe('First')

    const told = dev.told('synced').length
    writeFileSync(clients, clientText('Second').replace('publicClient', 'publikClient'))
    const wrong = await dev.wait('synced', ({ status }) => status === 'invalid', told)
    expect(wrong['diagnostics'][0]).toMatchObject({
      severity: 'error',
      code: 'unknown-field',
      place: { file: 'realms/clients.yaml', line: 3 },
    })
    expect(await nameOfClient(dev)).toBe('First')
    writeFileSync(clients, 'realm: acme\nclients: [')
    await dev.wait('synced', ({ diagnostics }) => /yaml/.test(diagnostics[0]?.code))
    expect((await fetch(`${dev.url}/realms/acme/login`)).status).toBe(200)
    writeFileSync(clients, clientText('Right'))
    await dev.wait('synced', changed, told)
    expect(await nameOfClient(dev)).toBe('Right')
  })

  it('tells what only the server finds out at the line that it is about', async () => {
    const estate = newEstate()
    const people = join(estate, 'realms', 'people.yaml')
    const text = readFileSync(people, 'utf8')
    writeFileSync(people, text.replace('eleven purple teapots sing', 'short'))
    const dev = await startDev(estate)
    expect(await dev.wait('ready')).toMatchObject({ applied: false })
    const { diagnostics } = await dev.wait('synced', ({ status }) => status === 'failed')
    const place = { file: 'realms/people.yaml', line: 4 }
    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'password.minLength',
        place: expect.objectContaining(place),
      }),
    )
    expect(dev.process.stdout()).not.toContain('"short"')
  })

  it('tells as lines for people what a program gets as JSON', async () => {
    const estate = newEstate()
    const dev = await startDev(estate, ['-o', 'human'])
    await dev.process.waitForLine(/ready after \d+\.\d s; watching for changes/)
    const output = dev.process.stdout()
    expect(output).toMatch(/^\d\d:\d\d:\d\d {2}iamctl dev \S+: starting a server/m)
    expect(output).toContain(`acme: sign in at ${dev.url}/realms/acme/login`)
    expect(output).toContain('acme: bob / eleven purple teapots sing')
    expect(output).toMatch(
      /contains a secret, generated because the variables are not set: ALICE_PASSWORD/,
    )
    writeFileSync(join(estate, 'realms', 'clients.yaml'), clientText('Second'))
    await dev.process.waitForLine(/~ name: "First" -> "Second"/)
    writeFileSync(join(estate, 'realms', 'clients.yaml'), 'realm: acme\nclients: {}\n')
    await dev.process.waitForLine(/realms\/clients\.yaml:2:\d+: error /)
    await dev.process.waitForLine(/> 2 \| clients: \{\}/)
    expect(dev.process.stdout()).not.toContain('\u001b')
  })
})

describe('a variable of the environment', () => {
  it('is used where files ask for it, never shown, and what is for another server does not reach this one', async () => {
    const password = 'fourteen green kettles hum 14'
    const dev = await startDev(newEstate(), [], {
      env: {
        ALICE_PASSWORD: password,
        IAMCTL_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
        IAMCTL_BASE_URL: 'https://id.example',
        IAMCTL_MASTER_KEY: 'x',
      },
    })
    expect(await dev.wait('ready')).toMatchObject({ applied: true })
    const { alice } = usersOf(await dev.wait('realms'))
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
    expect(alice).toMatchObject({ password: null, from: '${env:ALICE_PASSWORD}' })
    await signIn(dev.url, 'acme', 'alice', password)
    expect(dev.told('secrets-made')).toEqual([])
    expect(dev.process.stdout() + dev.process.stderr()).not.toContain(password)
  })
})
