/** Names of authorization services with "/", as UMA scopes that are URIs have. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()
const all = 'http://www.example.com/scopes/all'

const file = (realm: string, scope: string, former = ''): string => `realm: ${realm}
clients:
  - clientId: https://photos.example/api
    authorizationServicesEnabled: true
    authzScopes: [{ name: '${scope}'${former === '' ? '' : `, renamedFrom: '${former}'`} }, { name: view }]
    authzResources: [{ name: albums/2026, scopes: [view, '${scope}'] }]
    authzPolicies: [{ name: GET /albums, type: user, users: [] }]
    authzPermissions:
      - { name: a/b, type: scope, scopes: ['${scope}'], resources: [albums/2026], policies: [GET /albums] }
`

it('names with "/" are applied, found, renamed and exported', async () => {
  const realm = newRealm()
  const { run, write, folder } = newEstate(world(), { 'a.yaml': file(realm, all) })
  const planOf = async () => (await run(`plan a.yaml --detailed-exitcode`)).code
  expect(await run('apply a.yaml --auto-approve')).toMatchObject({ code: 0 })
  expect(await planOf()).toBe(0)
  write({ 'a.yaml': file(realm, 'scopes/every', all) })
  const planned = await run('plan a.yaml')
  expect(planned.stdout).toContain('renamed')
  expect(await run('apply a.yaml --auto-approve')).toMatchObject({ code: 0 })
  write({ 'a.yaml': file(realm, 'scopes/every') })
  expect(await planOf()).toBe(0)
  expect(await run(`export --realm ${realm} --out out.yaml`)).toMatchObject({ code: 0 })
  const exported = readFileSync(`${folder}/out.yaml`, 'utf8')
  for (const name of ['scopes/every', 'albums/2026', 'GET /albums', 'a/b'])
    expect(exported).toContain(`name: ${name}`)
  expect(exported).not.toContain('%2F')
  expect((await run('plan out.yaml --detailed-exitcode')).code).toBe(0)
  write({
    'a.yaml': file(realm, 'scopes/missing').replace("name: 'scopes/missing'", 'name: scopes/other'),
  })
  const checked = await run('validate a.yaml')
  expect(checked.stdout + checked.stderr).toContain('the authz-scope "scopes/missing" must exist')
})
