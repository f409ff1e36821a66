/** Secrets of files are sent to the server and appear nowhere else. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const mark = 'nobody-may-see-this'
const values = {
  CLIENT_SECRET: `${mark}-client-secret-0123456789`,
  HOOK_SECRET: `${mark}-hook-secret`,
  BIND_PASSWORD: `${mark}-bind-password`,
  FIRST_PASSWORD: `${mark}-First-Password-77!`,
}

const file = (realm: string): string => `realm: ${realm}
clients: [{ clientId: api, secret: "\${env:CLIENT_SECRET}" }]
webhooks: [{ name: hook, url: https://hook.example/, eventTypes: "*", secret: "\${file:hook.txt}" }]
identityProviders:
  - alias: directory
    protocol: ldap
    config: { url: ldaps://ldap.example, userSearchBase: ou=people, bindPassword: "\${env:BIND_PASSWORD}" }
users: [{ username: ann, initialPassword: "\${env:FIRST_PASSWORD}" }]
`

/** The text of every file below a folder. */
const everythingIn = (folder: string, except: readonly string[]): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !except.includes(name) && statSync(join(folder, name)).isFile())
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')

describe('secrets', () => {
  it('are in no output, saved plan, export, history or log, whatever becomes of the command', async () => {
    const realm = newRealm()
    const { HOOK_SECRET, ...env } = values
    const { run, write, folder } = newEstate(
      world(),
      { 'realm.yaml': file(realm), 'hook.txt': `${HOOK_SECRET}\n` },
      env,
    )
    const said: string[] = []
    const step = async (command: string, code = 0): Promise<void> => {
      const { code: ended, stdout, stderr } = await run(command)
      expect(ended, `${command}\n${stderr}`).toBe(code)
      said.push(stdout, stderr)
    }
    await step('validate realm.yaml')
    await step('plan realm.yaml --out saved.plan --debug')
    await step('plan realm.yaml -o json')
    await step('apply --plan saved.plan --auto-approve --debug')
    await step('apply --plan saved.plan --auto-approve -o json', 6)
    await step('plan realm.yaml --detailed-exitcode')
    // Changed by hand, and refused by the server after the secrets were sent.
    const hook = `/admin/realms/${realm}/webhooks/hook`
    const { body } = await world().admin.send('GET', hook)
    await world().admin.send('PUT', hook, { ...body, secret: 'another one' })
    await step('drift realm.yaml', 2)
    write({ 'realm.yaml': `${file(realm)}samlClients: []\nsettings: { defaultRole: nobody }\n` })
    await step('apply realm.yaml --auto-approve --debug', 3)
    await step('apply realm.yaml --auto-approve -o json', 3)
    write({ 'realm.yaml': file(realm) })
    await step('apply realm.yaml --auto-approve')
    await step('plan realm.yaml --detailed-exitcode')
    await step(`history show 1 --realm ${realm} -o json`)
    await step(`export --realm ${realm} --out exported`)
    await step(`export --realm ${realm} -o json --users all --ids`)
    await step(`events --realm ${realm} -o json`)
    expect(said.join('\n')).not.toContain(mark)
    expect(everythingIn(folder, ['hook.txt'])).not.toContain(mark)
    expect(world().server.output()).not.toContain(mark)
    expect(readFileSync(join(folder, 'exported', `${realm}.yaml`), 'utf8')).toContain(
      '# Set on the server, unchanged unless given here: secret',
    )
  })

  it('that cannot be had end the command before the first request, all named at once', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': file(realm) }, { CLIENT_SECRET: mark })
    const { code, stderr } = await run('apply realm.yaml --auto-approve --debug')
    expect(code).toBe(3)
    for (const name of ['hook.txt', 'BIND_PASSWORD', 'FIRST_PASSWORD'])
      expect(stderr).toContain(name)
    expect(stderr).not.toMatch(/debug: (GET|POST)/)
    expect((await world().admin.send('GET', `/admin/realms/${realm}`)).status).toBe(404)
  })

  it('of commands are fetched only where that is allowed', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nclients: [{ clientId: api, secret: "\${exec:touch ran; echo ${mark}-from-a-command-0123}" }]\n`,
    })
    const refused = await run('apply realm.yaml --auto-approve')
    expect(refused).toMatchObject({ code: 3 })
    expect(refused.stderr).toContain('--allow-exec')
    expect(readdirSync(folder)).not.toContain('ran')
    expect((await run('apply realm.yaml --auto-approve --allow-exec')).code).toBe(0)
    expect((await run('plan realm.yaml --allow-exec --detailed-exitcode')).code).toBe(0)
  })

  it('are never taken from a reference that an import does not follow', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': file(realm) }, values)
    await world().admin.send('POST', '/admin/realms', { realm })
    const refused = await run(`import realm.yaml --realm ${realm} --auto-approve`)
    expect(refused.code).toBe(3)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what stands in the file
    expect(refused.stderr).toContain('${env:CLIENT_SECRET}')
    expect((await world().admin.send('GET', `/admin/realms/${realm}/clients/api`)).status).toBe(404)
  })
})

describe('texts that look like references', () => {
  it('come back from an export as they are, through apply and import', async () => {
    const [realm, copy] = [newRealm(), newRealm()]
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the server holds
    const description = 'costs ${var:PRICE} or $${more'
    const { admin } = world()
    for (const name of [realm, copy]) await admin.send('POST', '/admin/realms', { realm: name })
    await admin.send('POST', `/admin/realms/${realm}/roles`, { name: 'odd', description })
    const { run } = newEstate(world(), {})
    expect((await run(`export --realm ${realm} --out .`)).code).toBe(0)
    expect((await run(`apply ${realm}.yaml --auto-approve`)).code).toBe(0)
    expect(
      (await run(`import ${realm}.yaml --realm ${copy} --from-realm ${realm} --auto-approve`)).code,
    ).toBe(0)
    for (const name of [realm, copy])
      expect((await admin.send('GET', `/admin/realms/${name}/roles/odd`)).body.description).toBe(
        description,
      )
  })
})
