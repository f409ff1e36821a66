/** `iamctl explain` and `iamctl schema`: output from the registry, without a server. */
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { explain } from '#cli/explain/explain.ts'
import { kinds } from '#schemas/registry.ts'
import { newHome } from '../../../support/processes/cli.ts'

const run = async (...args: string[]) => {
  const home = newHome()
  onTestFinished(home.remove)
  return home.run(args)
}

describe('explain', () => {
  it('tells type, default, limits and marks of a field', async () => {
    const { code, stdout, stderr } = await run('explain', 'client.redirectUris[0]')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`client.redirectUris  set of text
  Callback URLs, matched byte for byte.

  default      []
  limits       each: must be an absolute URI in ASCII without fragment, wildcard, user name, script scheme or OAuth parameter
               each: at most 2000 characters
  note         order and repetition mean nothing
`)
  })

  it('tells of a kind where it stands, who may, who names it, and its fields', async () => {
    const { stdout } = await run('explain', 'roles')
    expect(stdout).toMatch(/^role {2}kind\n {2}A realm role\./)
    expect(stdout).toMatch(/in files +roles\n/)
    expect(stdout).toMatch(/named by +name\n/)
    for (const place of ['group.roles', 'settings.defaultRole', 'client.serviceAccountRoles'])
      expect(stdout).toContain(place)
    expect(stdout).toMatch(/^name \* +text/m)
    expect(stdout).toMatch(/^composites +set of role names +\[\]/m)
    const client = await run('explain', 'client')
    expect(client.stdout).toMatch(/^roles +list of client-role /m)
  })

  it.each([
    ['settings.passwordPolicy.length', /whole number.*default +12\n.*1 to 256/s],
    ['client.roles.name', /named in +authz-policy.clientRoles/],
    ['group.groups.groups.roles', /set of role names/],
    ['webhook.secret', /stored sealed, never shown again/],
    ['user.initialPassword', /ignored afterwards/],
    ['client.id', /set by the server; not allowed in files/],
    ['identity-provider.protocol', /cannot be changed/],
    ['flow.authenticationExecutions.requirement', /one of REQUIRED, ALTERNATIVE/],
    ['realm.clients.clientId', /must be given/],
    ['estate.contexts.prod.server', /http or https/],
    ['client.attributes.anything', /^client.attributes.anything {2}text/],
  ])('goes into %s', async (words, expected) => {
    const { code, stdout } = await run('explain', words)
    expect(code).toBe(0)
    expect(stdout).toMatch(expected)
  })

  it.each([
    ['clint', 'did you mean "client"?'],
    ['relm', 'did you mean "realm"?'],
    ['client.redirectUri', 'did you mean "redirectUris"?'],
    ['estate.guard', 'did you mean "guards"?'],
    ['webhook.zzzzzzzz', 'its fields are name, url, eventTypes'],
    ['webhook.url.more', 'webhook.url has no fields'],
  ])('of %s says what was meant', async (words, hint) => {
    const { code, stdout, stderr } = await run('explain', words)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(hint)
  })

  it('lists the kinds, and is JSON for programs', async () => {
    const { stdout } = await run('explain')
    for (const { kind } of kinds) expect(stdout).toMatch(new RegExp(`^${kind} `, 'm'))
    const json = JSON.parse((await run('explain', 'client.enabled', '-o', 'json')).stdout)
    expect(json).toMatchObject({ path: 'client.enabled', type: 'true or false', default: true })
  })

  it.each(kinds.map(({ kind }) => kind))('has a word for every field of %s', (kind) => {
    const walk = (path: string): void => {
      const { fields, type } = explain(path)
      expect(type).not.toBe('')
      if (path.split('.').length < 4)
        for (const { name, type: inner } of fields) {
          expect(inner).not.toMatch(/undefined|^$/)
          walk(`${path}.${name}`)
        }
    }
    walk(kind)
  })
})

describe('schema', () => {
  it.each(['realm', 'estate', 'client', 'group'])(
    'of %s is the one that editors get',
    async (name) => {
      const { code, stdout } = await run('schema', name)
      expect(code).toBe(0)
      const file = new URL(`../../../../schemas/editor/${name}.schema.json`, import.meta.url)
      expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(file, 'utf8')))
    },
  )

  it('is that of a realm unless another is named, by any of its names', async () => {
    expect(JSON.parse((await run('schema')).stdout).title).toBe('A realm of iamctl')
    expect(JSON.parse((await run('schema', 'samlClients')).stdout).title).toBe('saml-client')
    expect((await run('schema', 'clints')).stderr).toContain('did you mean "clients"?')
  })
})
