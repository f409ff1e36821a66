/** The questions of an RPT request: as many as there are resources and scopes, however long the form is (CWE-770). */

import { describe, expect, it } from 'vitest'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import { indexUris, type ResourceUris } from '#server/authz/resource-uris.ts'
import { parseParameters } from '#server/oidc/parameters.ts'
import { askedFor } from '#server/oidc/uma/asked-permissions.ts'

const resource = (name: string): Resource => ({
  id: `id-of-${name}`,
  doc: { name, uris: [], scopes: ['read', 'write'], ownerManagedAccess: false, attributes: {} },
})
const order = resource('order')
const bill = resource('bill')
/** As the resource servers of a realm are built. */
const serverOf = (resources: readonly Resource[]) => {
  let uris: ResourceUris | undefined
  return {
    resources,
    scopes: new Set(['read', 'write', 'print']),
    find: (text: string) => resources.find(({ id, doc }) => id === text || doc.name === text),
    uris: () => {
      uris ??= indexUris(resources)
      return uris
    },
    withScope: (scope: string) => resources.filter(({ doc }) => doc.scopes.includes(scope)),
  } as unknown as ResourceServer
}
const server = serverOf([order, bill])

const questionsOf = async (
  asked: ResourceServer,
  permissions: readonly string[],
  more: Readonly<Record<string, string>> = {},
) => {
  const form = new URLSearchParams(more)
  for (const one of permissions) form.append('permission', one)
  const { questions } = await askedFor(
    asked,
    parseParameters(form.toString()),
    undefined,
    undefined,
  )
  return [...questions]
}
const questions = (...permissions: readonly string[]) => questionsOf(server, permissions)

describe('the questions of an RPT request', () => {
  it('name a scope once, whatever the form repeats', async () => {
    const both = [order, bill].map((one) => ({ resource: one, scopes: ['read'] }))
    expect(await questions('#read')).toEqual(both)
    expect(await questions(`#${'read,'.repeat(5000)}`)).toEqual(both)
    expect(await questions(...Array.from({ length: 150 }, () => '#read'))).toEqual(both)
  })

  it('name a resource once, with all the scopes that were asked for', async () => {
    expect(await questions('order#read', 'id-of-order#write', '#write')).toEqual([
      { resource: order, scopes: ['read', 'write'] },
      { resource: bill, scopes: ['write'] },
    ])
  })

  it('include every scope of a resource that is named without a scope', async () => {
    expect(await questions('order#read', 'order', 'order#write')).toEqual([{ resource: order }])
  })

  it('name a scope alone where no resource has it', async () => {
    expect(await questions('#print', '#print,print')).toEqual([
      { resource: undefined, scopes: ['print'] },
    ])
  })

  /** Resources that count how often somebody looks into them. */
  const countedResources = (count: number) => {
    let looks = 0
    const resources = Array.from({ length: count }, (_, n) => {
      const { id, doc } = resource(`r${n}`)
      const counted = { ...doc, uris: [`/orders/${n}/*`] }
      return {
        id,
        get doc() {
          looks += 1
          return counted
        },
      }
    })
    return { resources, looks: () => looks }
  }

  it.each([
    ['the same scope in other words', (n: number) => `#read${','.repeat(n)}`, {}],
    [
      'addresses',
      (n: number) => `/orders/${n}/lines`,
      { permission_resource_format: 'uri', permission_resource_matching_uri: 'true' },
    ],
    ['URIs', (n: number) => `/orders/${n}/*`, { permission_resource_format: 'uri' }],
  ])(
    'look at each resource a few times, however many of %s are named',
    async (_name, text, more) => {
      const { resources, looks } = countedResources(1000)
      const asked = Array.from({ length: 150 }, (_, n) => text(n))
      await questionsOf(serverOf(resources), asked, more)
      expect(looks()).toBeLessThan(4 * resources.length)
    },
  )
})
