/** The loop of the README with the built program: validate, plan, apply, drift, history, rollback, export, import. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const realmFile = (realm: string, more = ''): string => `realm: ${realm}
settings: { displayName: Shop }
roles:
  - { name: reader }
  - { name: support, permissions: [view-users] }
groups:
  - name: Staff
    roles: [reader]
    groups: [{ name: Helpdesk, roles: [support] }]
clients:
  - clientId: web
    publicClient: true
    grantTypes: [authorization_code, refresh_token]
    redirectUris: [https://shop.example/callback]
${more}`

describe('the loop', () => {
  it('makes a realm that does not exist, and a second apply changes nothing', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    const planned = await run('plan realm.yaml', '--detailed-exitcode')
    expect(planned.code).toBe(2)
    expect(planned.stdout).toContain(`+ realm ${realm}`)
    expect(planned.stdout).toContain('Plan: 5 to add, 1 to change, 0 to destroy.')
    const applied = await run('apply realm.yaml --auto-approve --message First')
    expect(applied).toMatchObject({ code: 0 })
    expect(applied.stdout).toContain('Apply complete! Documents: 5 added, 1 changed, 0 destroyed.')
    const again = await run('apply realm.yaml')
    expect(again).toMatchObject({
      code: 0,
      stdout: 'No changes. The realm matches the files.\n',
    })
    const noop = await run('plan realm.yaml --detailed-exitcode --debug')
    expect(noop.code).toBe(0)
    expect(noop.stderr).toContain('debug: 1 requests')
  })

  it('says what differs, who changed it and when, and mends it', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    await run('apply realm.yaml --auto-approve')
    expect((await run('drift realm.yaml')).code).toBe(0)
    const at = `/admin/realms/${realm}`
    const { body } = await world().admin.send('GET', `${at}/clients/web`)
    const changed = { ...body, redirectUris: ['https://evil.example/'] }
    expect((await world().admin.send('PUT', `${at}/clients/web`, changed)).status).toBe(200)
    expect((await world().admin.send('DELETE', `${at}/groups/%2FStaff%2FHelpdesk`)).status).toBe(
      204,
    )
    const drift = await run('drift realm.yaml')
    expect(drift.code).toBe(2)
    expect(drift.stdout).toMatch(
      /client "web" will be updated.*\n.*last changed by admin on .*rest/,
    )
    expect(drift.stdout).toMatch(/group "\/Staff\/Helpdesk" will be created\n.*deleted by admin on/)
    expect(drift.stdout).toContain('"https://evil.example/"')
    await run('apply realm.yaml --auto-approve')
    expect((await run('drift realm.yaml')).code).toBe(0)
  })

  it('keeps a history with who, why and what, and goes back in it', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    await run('apply realm.yaml --auto-approve --message First')
    write({ 'realm.yaml': realmFile(realm).replace('displayName: Shop', 'displayName: Store') })
    await run('apply realm.yaml --auto-approve --message Second')
    const history = await run(`history --realm ${realm}`)
    expect(history.stdout).toMatch(/2 .*admin .*changeset .*\+0 ~1 -0.*Second/)
    const shown = await run(`history show 2 --realm ${realm}`)
    expect(shown.stdout).toContain('# settings was updated')
    expect(shown.stdout).toContain('~ displayName = "Shop" -> "Store"')
    const between = await run(`history diff 2 1 --realm ${realm} -o json`)
    expect(JSON.parse(between.stdout).changes).toMatchObject([
      { kind: 'settings', fields: [{ pointer: '/displayName', before: 'Store', after: 'Shop' }] },
    ])
    const trial = await run(`rollback 1 --realm ${realm} --plan`)
    expect(trial.stdout).toContain('~ displayName = "Store" -> "Shop"')
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
    const back = await run(`rollback 1 --realm ${realm} --auto-approve`)
    expect(back.code).toBe(0)
    const { body } = await world().admin.send('GET', `/admin/realms/${realm}/settings`)
    expect(body.displayName).toBe('Shop')
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(2)
  })

  it('keeps the first 2000 characters of a message, which is that of a commit in a pipeline', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    const commit = `Merge branch 'shipping'\n\n${'🚚'.repeat(3000)}`
    const stored = `${Array.from(commit).slice(0, 1999).join('')}…`
    const first = await run('apply realm.yaml --auto-approve --message', commit)
    expect(first.code, first.stderr).toBe(0)
    await run(`delete group /Staff/Helpdesk --realm ${realm} --auto-approve`)
    expect((await run('reconcile realm.yaml --once --message', commit)).code).toBe(0)
    const back = await run(`rollback 2 --realm ${realm} --auto-approve --message`, commit)
    expect(back.code, back.stderr).toBe(0)
    const { stdout } = await run(`history --realm ${realm} -o json`)
    const messages = JSON.parse(stdout).map((one: { message: string }) => one.message)
    expect(messages).toEqual([stored, stored, null, stored])
  })

  it('exports files that plan to no changes, as one or one a section, and does not replace them unasked', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    await run('apply realm.yaml --auto-approve')
    const whole = await run(`export --realm ${realm}`)
    expect(whole.stdout).toContain(`realm: ${realm}\n`)
    expect((await run(`export --realm ${realm} --out split --split`)).code).toBe(0)
    expect(readdirSync(join(folder, 'split', realm))).toContain('clients.yaml')
    for (const source of ['default', 'another'])
      expect(
        await run(`plan split --detailed-exitcode --source ${source} --take-over`),
        source,
      ).toMatchObject(source === 'default' ? { code: 0 } : { code: 2 })
    expect(await run(`export --realm ${realm} --out split --split`)).toMatchObject({ code: 1 })
    expect((await run('validate split')).code).toBe(0)
  })

  it('exports a realm without configuration as a file that makes it again', async () => {
    const realm = newRealm()
    await world().admin.send('POST', '/admin/realms', { realm })
    const { run, folder } = newEstate(world(), {})
    const { code, stderr } = await run(`export --realm ${realm} --out split --split`)
    expect(code).toBe(0)
    const files = readdirSync(join(folder, 'split', realm))
    for (const file of files) expect(stderr).toContain(file)
    expect(files.length).toBeGreaterThan(0)
    expect(await run('plan split --detailed-exitcode')).toMatchObject({ code: 0 })
    await world().admin.send('DELETE', `/admin/realms/${realm}`)
    expect((await run('apply split --auto-approve')).code).toBe(0)
    expect((await world().admin.send('GET', `/admin/realms/${realm}/settings`)).status).toBe(200)
  })

  it('imports what was exported into another realm', async () => {
    const [from, to] = [newRealm(), newRealm()]
    const { run, write } = newEstate(world(), { 'realm.yaml': realmFile(from) })
    await run('apply realm.yaml --auto-approve')
    const exported = await run(`export --realm ${from} -o json`)
    write({ 'backup.json': exported.stdout.replaceAll(from, to) })
    await world().admin.send('POST', '/admin/realms', { realm: to })
    expect((await run(`import backup.json --realm ${to} --plan`)).stdout).toContain(
      'client "web" will be created',
    )
    expect((await run(`import backup.json --realm ${to} --auto-approve`)).code).toBe(0)
    expect((await world().admin.send('GET', `/admin/realms/${to}/clients/web`)).status).toBe(200)
  })

  it('plans overlays and variables, each environment in its own way', async () => {
    const realm = newRealm()
    const { run, folder, write } = newEstate(world(), {
      'realm.yaml': realmFile(realm).replace(
        'https://shop.example/callback',
        `'\${var:SHOP:-https://dev.example}/callback'`,
      ),
    })
    mkdirSync(join(folder, 'prod'))
    write({
      'prod/realm.yaml': `realm: ${realm}\nroles: [{ name: support, remove: true }]\ngroups:\n  - { name: Staff, groups: [{ name: Helpdesk, roles: [] }] }\n`,
    })
    const dev = await run('plan realm.yaml -o json')
    expect(dev.stdout).toContain('https://dev.example/callback')
    const prod = await run('plan realm.yaml -o json --overlay prod --var SHOP=https://prod.example')
    const keys = JSON.parse(prod.stdout).realms[0].changes.map(
      (change: { key: string }) => change.key,
    )
    expect(prod.stdout).toContain('https://prod.example/callback')
    expect(keys).not.toContain('support')
  })

  it('saves a plan that holds no secret and does exactly that, or says that the realm has moved', async () => {
    const realm = newRealm()
    const secret = 'a-secret-that-nobody-may-see-0123456789'
    const { run, folder } = newEstate(
      world(),
      {
        'realm.yaml': realmFile(realm, `  - { clientId: api, secret: "\${env:API_SECRET}" }\n`),
      },
      { API_SECRET: secret },
    )
    expect((await run('plan realm.yaml --out saved.plan')).code).toBe(0)
    const saved = readFileSync(join(folder, 'saved.plan'), 'utf8')
    expect(saved).not.toContain(secret)
    expect(statSync(join(folder, 'saved.plan')).mode & 0o077).toBe(0)
    expect((await run('apply --plan saved.plan --auto-approve')).code).toBe(0)
    const stale = await run('apply --plan saved.plan --auto-approve')
    expect(stale.code).toBe(6)
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
    const noise = await run('plan realm.yaml --debug -o json')
    expect(noise.stdout + noise.stderr).not.toContain(secret)
  })

  it('tells a secret that changed by its name alone, once', async () => {
    const realm = newRealm()
    const files = {
      'realm.yaml': realmFile(realm, `  - { clientId: api, secret: "\${env:API_SECRET}" }\n`),
    }
    const first = 'the-first-secret-of-the-api-0123456789'
    const second = 'the-second-secret-of-the-api-0123456789'
    const one = newEstate(world(), files, { API_SECRET: first })
    await one.run('apply realm.yaml --auto-approve')
    const two = newEstate(world(), files, { API_SECRET: second })
    const planned = await two.run('plan realm.yaml')
    expect(planned.stdout).toContain('~ secret = (secret) changed')
    expect(planned.stdout).not.toMatch(/first-secret|second-secret/)
    expect((await two.run('apply realm.yaml --auto-approve')).code).toBe(0)
    expect((await two.run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
  })
})
