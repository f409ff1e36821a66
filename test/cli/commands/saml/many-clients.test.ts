/** A plan over many service providers that are as they should be. */
import { describe, expect, it } from 'vitest'
import { sender } from '../../../xml/keys.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'
import { startProxy } from '../fixture/proxy.ts'

const world = sharedWorld()

const fileOf = (realm: string): string =>
  JSON.stringify({
    realm,
    samlClients: Array.from({ length: 1000 }, (_, i) => ({
      entityId: `https://sp-${i}.example/metadata`,
      assertionConsumerServiceUrl: `https://sp-${i}.example/acs`,
      signingCertificate: sender.certificate,
      acs: [{ index: 1, url: `https://sp-${i}.example/acs` }],
    })),
  })

describe('a plan of 1,000 service providers', () => {
  it('takes one request where nothing has changed', async () => {
    const asked: string[] = []
    const proxy = await startProxy(world().server.url, ({ method, url = '' }) => {
      if (url.startsWith('/admin/realms/')) asked.push(`${method} ${url.split('?')[0]}`)
    })
    const realm = newRealm()
    const { run } = newEstate(
      world(),
      { 'iamctl.yaml': 'source: many\npaths: [realm.json]\n', 'realm.json': fileOf(realm) },
      { IAMCTL_SERVER: proxy.url },
    )
    const applied = await run('apply --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    asked.length = 0
    const plan = await run('plan')
    expect(plan.stdout).toContain('No changes.')
    expect(asked).toEqual([`POST /admin/realms/${realm}/compare`])
  })
})
