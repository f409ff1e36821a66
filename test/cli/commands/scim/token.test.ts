/** `iamctl scim token` with the built program, and plans of realms that a sender provisions. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { senderNames } from '#cli/commands/scim/senders.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { startWorld } from '../fixture/fixture.ts'
import { root } from '../guides/pages.ts'

const world = startWorld()

const core = 'urn:ietf:params:scim:schemas:core:2.0'
const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

const sendTo =
  (url: string, token: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  async (method: string, path: string, body?: object): Promise<{ status: number; body: any }> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

describe('tokens', () => {
  it('are printed once, alone on stdout, with what to paste where', async () => {
    const { run } = world().home
    const early = await run(['scim', 'token', 'create'])
    expect(early.code).toBe(0)
    expect(early.stderr).toContain(
      'realm acme does not take SCIM yet: set provisioning.scimEnabled',
    )
    await world().admin.send('PUT', '/admin/realms/acme/provisioning', { scimEnabled: true })
    const { code, stdout, stderr } = await run(['scim', 'token', 'create', '--for', 'entra'])
    expect(code).toBe(0)
    const token = stdout.trim()
    expect(token).toMatch(/^[\w-]{40,}$/)
    const url = `${world().server.url}/realms/acme/scim/v2`
    expect(stderr).toContain(`${url}?aadOptscim062020`)
    expect(stderr).not.toContain(token)
    expect(stderr).not.toContain('does not take SCIM')
    expect((await sendTo(url, token)('GET', '/Users?count=0')).status).toBe(200)
  })

  it.each(senderNames)('tell what to paste for %s, as its guide says', async (sender) => {
    const args = ['scim', 'token', 'create', '--for', sender, '-o', 'json']
    const made = JSON.parse((await world().home.run(args)).stdout)
    expect(made).toMatchObject({ sender, scopes: ['users', 'groups'], lastUsedAt: null })
    expect(made.steps.join('\n')).toContain(made.url)
    const guide = readFileSync(`${root}/docs/scim-${sender}.md`, 'utf8')
    for (const step of made.steps)
      expect(guide).toContain(step.replace(world().server.url, 'http://127.0.0.1:8080'))
  })

  it('are listed without their values, and revoked', async () => {
    const { run } = world().home
    const args = ['scim', 'token', 'create', '--sender', 'hr', '--scope', 'users', '--days', '0']
    const made = JSON.parse((await run([...args, '--label', 'HR', '-o', 'json'])).stdout)
    const listed = await run(['scim', 'token', 'list'])
    expect(listed.stdout).toMatch(new RegExp(`${made.id} +hr +users +HR +unlimited +never`))
    expect(listed.stdout).not.toContain(made.token)
    const revoke = ['scim', 'token', 'revoke', made.id]
    expect((await run(revoke)).code).toBe(1)
    expect((await run([...revoke, '--auto-approve'])).code).toBe(0)
    expect((await sendTo(made.url, made.token)('GET', '/Users')).status).toBe(401)
    expect((await run([...revoke, '--auto-approve'])).code).not.toBe(0)
  })

  it('are refused with wrong flags', async () => {
    const { run } = world().home
    for (const flags of [
      ['--scope', 'all'],
      ['--days', '-1'],
      ['--for', 'nobody'],
      ['--sender', 'A B'],
    ])
      expect((await run(['scim', 'token', 'create', ...flags])).code, flags.join(' ')).not.toBe(0)
  })
})

describe('a realm in files that a sender provisions', () => {
  it('plans to no changes for what the sender made, and shows what it changed of a declared user', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: scim-estate\npaths: [realm.yaml]\n',
      'realm.yaml': `realm: ${realm}\nprovisioning: { scimEnabled: true }\ngroups: [{ name: Staff }]\nusers: [{ username: dora, attributes: { title: [Engineer] } }]\n`,
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    const { stdout } = await estate.run(`scim token create --for entra --realm ${realm} -o json`)
    const made = JSON.parse(stdout)
    const send = sendTo(made.url, made.token)
    const eve = await send('POST', '/Users', { schemas: [`${core}:User`], userName: 'eve' })
    const sales = await send('POST', '/Groups', {
      schemas: [`${core}:Group`],
      displayName: 'Sales',
      members: [{ value: eve.body.id }],
    })
    expect([eve.status, sales.status]).toEqual([201, 201])
    const found = await send('GET', '/Groups?filter=displayName%20eq%20%22staff%22')
    const [staff] = found.body.Resources
    const join = { op: 'add', path: 'members', value: [{ value: eve.body.id }] }
    expect(
      (await send('PATCH', `/Groups/${staff.id}`, { schemas: [patchOp], Operations: [join] }))
        .status,
    ).toBe(200)
    for (const flags of ['', '--prune all'])
      expect(await estate.run(`plan --detailed-exitcode ${flags}`.trim())).toMatchObject({
        code: 0,
      })

    const users = await send('GET', '/Users?filter=userName%20eq%20%22dora%22')
    const [dora] = users.body.Resources
    const promote = { op: 'Replace', path: 'title', value: 'Director' }
    expect(
      (await send('PATCH', `/Users/${dora.id}`, { schemas: [patchOp], Operations: [promote] }))
        .body,
    ).toMatchObject({ title: 'Director' })
    const plan = await estate.run('plan --detailed-exitcode')
    expect(plan.code).toBe(2)
    expect(plan.stdout).toContain('Director')
    const employ = { op: 'add', path: 'members', value: [{ value: dora.id }] }
    const employed = await send('PATCH', `/Groups/${sales.body.id}`, {
      schemas: [patchOp],
      Operations: [employ],
    })
    expect(employed.body.members).toHaveLength(2)
    const drift = await estate.run('drift')
    expect(drift.stdout + drift.stderr).toContain('scim:entra')
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    const after = (await send('GET', `/Users/${dora.id}`)).body
    expect([after.title, after.groups]).toEqual(['Engineer', undefined])
    const leave = { op: 'Replace', path: 'active', value: 'False' }
    await send('PATCH', `/Users/${dora.id}`, { schemas: [patchOp], Operations: [leave] })
    expect((await estate.run('plan --detailed-exitcode')).stdout).toContain('enabled')
    expect((await send('DELETE', `/Users/${dora.id}`)).status).toBe(204)
    expect((await estate.run('plan --detailed-exitcode')).stdout).toContain('dora')
  })

  it('adopts a group that the sender made, and overwrites a user of the sender only with --take-over', async () => {
    const realm = newRealm()
    const files = (more: string) => `realm: ${realm}\nprovisioning: { scimEnabled: true }\n${more}`
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: scim-estate\npaths: [realm.yaml]\n',
      'realm.yaml': files(''),
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    const { stdout } = await estate.run(`scim token create --for entra --realm ${realm} -o json`)
    const made = JSON.parse(stdout)
    const send = sendTo(made.url, made.token)
    const eve = await send('POST', '/Users', {
      schemas: [`${core}:User`],
      userName: 'eve',
      title: 'Chief',
    })
    const sales = await send('POST', '/Groups', {
      schemas: [`${core}:Group`],
      displayName: 'Sales',
      members: [{ value: eve.body.id }],
    })
    expect((await estate.run('adopt group//Sales')).code).toBe(0)
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    expect((await send('GET', `/Groups/${sales.body.id}`)).body.members).toHaveLength(1)

    estate.write({
      'realm.yaml': files('groups: [{ name: Sales }]\nusers: [{ username: eve }]\n'),
    })
    for (const command of ['plan', 'apply --auto-approve']) {
      const refused = await estate.run(command)
      expect([command, refused.code]).toEqual([command, 6])
      expect(refused.stderr).toContain('user "eve" belongs to scim:entra')
    }
    await send('POST', '/Users', { schemas: [`${core}:User`], userName: 'finn' })
    estate.write({
      'realm.yaml': files(
        'groups: [{ name: Sales }]\nusers:\n  - { username: eve }\n  - { username: finn }\n',
      ),
    })
    for (const command of ['plan', 'apply --auto-approve']) {
      const refused = await estate.run(command)
      const said = refused.stdout + refused.stderr
      expect([command, refused.code]).toEqual([command, 6])
      expect(said).toContain('realm.yaml:5:5')
      expect(said).toContain('realm.yaml:6:5')
      expect(said).not.toContain('/operations/')
    }
    const { error } = JSON.parse((await estate.run('plan -o json')).stderr)
    expect([error.exitCode, error.code, error.status]).toEqual([6, 'owned', 409])
    expect(error.hint).toContain('--take-over')
    expect(error.diagnostics).toMatchObject(
      [
        { code: 'owned', message: /eve/, place: { line: 5 } },
        { code: 'owned', message: /finn/, place: { line: 6 } },
      ].map((one) => ({ ...one, message: expect.stringMatching(one.message) })),
    )
    estate.write({
      'realm.yaml': files('groups: [{ name: Sales }]\nusers: [{ username: eve }]\n'),
    })
    expect((await send('GET', `/Users/${eve.body.id}`)).body).toMatchObject({ title: 'Chief' })
    const plan = await estate.run('plan --take-over')
    expect(plan.stdout).toContain('attributes.title, groups [user-exists]')
    expect((await estate.run('apply --take-over --auto-approve')).code).toBe(0)
    expect((await estate.run('plan --detailed-exitcode')).code).toBe(0)
  })
})
