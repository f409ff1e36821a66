/** The questions of an RPT request: as many as there are resources and scopes, however long the form is (CWE-770). */

import { describe, expect, it } from 'vitest'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import { parseParameters } from '#server/oidc/parameters.ts'
import { askedFor } from '#server/oidc/uma/asked-permissions.ts'

const resource = (name: string): Resource => ({
  id: `id-of-${name}`,
  doc: { name, uris: [], scopes: ['read', 'write'], ownerManagedAccess: false, attributes: {} },
})
const order = resource('order')
const bill = resource('bill')
const server = {
  resources: [order, bill],
  scopes: new Set(['read', 'write', 'print']),
  find: (text: string) => [order, bill].find(({ id, doc }) => id === text || doc.name === text),
} as unknown as ResourceServer

const questions = (...permissions: readonly string[]) => {
  const form = permissions.map((one) => `permission=${encodeURIComponent(one)}`).join('&')
  return askedFor(server, parseParameters(form), undefined, undefined).questions
}

describe('the questions of an RPT request', () => {
  it('name a scope once, whatever the form repeats', () => {
    const both = [order, bill].map((one) => ({ resource: one, scopes: ['read'] }))
    expect(questions('#read')).toEqual(both)
    expect(questions(`#${'read,'.repeat(5000)}`)).toEqual(both)
    expect(questions(...Array.from({ length: 150 }, () => '#read'))).toEqual(both)
  })

  it('name a resource once, with all the scopes that were asked for', () => {
    expect(questions('order#read', 'id-of-order#write', '#write')).toEqual([
      { resource: order, scopes: ['read', 'write'] },
      { resource: bill, scopes: ['write'] },
    ])
  })

  it('are about every scope of a resource that is named without one', () => {
    expect(questions('order#read', 'order', 'order#write')).toEqual([{ resource: order }])
  })

  it('are about a scope alone where no resource has it', () => {
    expect(questions('#print', '#print,print')).toEqual([
      { resource: undefined, scopes: ['print'] },
    ])
  })
})
