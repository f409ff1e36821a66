/** A write that needs the document above, of which the database can tell nothing, is a fault of the storage. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, it } from 'vitest'
import { Group } from '#schemas/kinds/users/group.ts'
import { createVerbs, type ResourceParts } from '#server/realm/crud/verbs.ts'
import { StorageUnavailableError } from '#server/storage/contract.ts'

const create = (byId: () => Promise<undefined>): Promise<unknown> => {
  const parts = { copy: { fresh: async () => ({ realm: 'acme', byId }) } }
  const request = {
    method: 'POST',
    params: { realm: 'acme' },
    caller: {},
    body: { name: 'Night', parentId: '0198c0de-0000-7000-8000-000000000000' },
  }
  return createVerbs(Group, parts as unknown as ResourceParts).create(
    request as unknown as FastifyRequest,
    {} as FastifyReply,
  )
}

it('a parent that does not exist is named', async () => {
  await expect(create(async () => undefined)).rejects.toMatchObject({
    code: 'validation',
    errors: [{ field: '/parentId', code: 'missing-reference' }],
  })
})

it('a database that cannot be used is not a parent that does not exist', async () => {
  const away = new StorageUnavailableError('away')
  await expect(create(() => Promise.reject(away))).rejects.toBe(away)
})
