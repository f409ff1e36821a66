/** The picture of README.md is the output of `iamctl plan`. UPDATE=1 draws it again. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { newEstate } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'
import { svgOf } from './svg.ts'

const world = sharedWorld()
const picture = fileURLToPath(new URL('../../../../docs/images/plan.svg', import.meta.url))

const before = `realm: shop
settings: { displayName: Shop }
roles:
  - { name: support, permissions: [view-users] }
groups:
  - { name: Helpdesk, roles: [support] }
clients:
  - clientId: web
    publicClient: true
    grantTypes: [authorization_code, refresh_token]
    redirectUris: [https://shop.example/callback]
  - clientId: invoices
    secret: a secret of thirty-two characters or more
    grantTypes: [client_credentials]
    serviceAccountsEnabled: true
`

const after = before
  .replace(
    '[https://shop.example/callback]',
    '[https://shop.example/callback, https://beta.shop.example/callback]',
  )
  .replace('a secret of', 'another secret of')
  .replace(/groups:\n.*\n/, 'groups: []\n')
  .concat(`webhooks:
  - { name: siem, url: https://siem.shop.example/events, eventTypes: 'ADMIN_*', secret: a third secret of thirty-two characters }
`)

/** A new field of a kind is no reason to draw the picture again. */
const withoutCounts = (svg: string): string => svg.replace(/\d+(?=\u00a0unchanged)/g, 'N')

it('the picture in README.md is what iamctl plan writes', async () => {
  const { run, write } = newEstate(world(), { 'shop.yaml': before }, { FORCE_COLOR: '1' })
  const first = await run('apply shop.yaml --auto-approve')
  expect(first.code, first.stderr).toBe(0)
  write({ 'shop.yaml': after })
  const { code, stdout, stderr } = await run('plan shop.yaml')
  expect(code, stderr).toBe(0)
  const text = stdout.replace(world().server.url, 'https://id.example').trimEnd()
  const drawn = svgOf('iamctl plan shop.yaml', text)
  if (process.env['UPDATE'] === '1') writeFileSync(picture, drawn)
  const committed = readFileSync(picture, 'utf8')
  expect(withoutCounts(committed), 'draw it again with UPDATE=1').toBe(withoutCounts(drawn))
})
