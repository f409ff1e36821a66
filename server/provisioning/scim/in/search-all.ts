/** Users and groups in one list, users first: by GET at the root, or by POST (RFC 7644 §3.4.2.1, §3.4.3). */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admit } from './caller.ts'
import { listQuery, listSchema } from './description/json-schemas.ts'
import { describeScim, describeSearch } from './description/operations.ts'
import { ScimError } from './errors.ts'
import { type Asked, listResponse, readPage, readQuery, readSearch } from './paging.ts'
import { sendJson } from './replies.ts'
import type { FindPage } from './resource-routes.ts'
import type { Resource } from './schema/attribute.ts'

const anything = listSchema({ type: 'object' }, 'resource')
const describedList = describeScim({
  operationId: 'scim-list-resources',
  summary: 'Users and groups of the realm (RFC 7644 §3.4.2.1)',
  replies: { 200: anything },
  query: listQuery,
  refusals: [],
})
const describedSearch = describeSearch(
  'resources',
  'Users and groups of the realm, by POST (RFC 7644 §3.4.3)',
  anything,
)

export const searchAllRoutes =
  (
    { admit, finders }: { readonly admit: Admit; readonly finders: readonly FindPage[] },
    path: string,
  ) =>
  (app: FastifyInstance): void => {
    const list = async (request: FastifyRequest, asked: Asked): Promise<Resource> => {
      await admit(request, 'users')
      const call = await admit(request, 'groups')
      const page = readPage(asked)
      if (page.byCursor)
        throw new ScimError(400, 'users and groups together have no cursor', 'invalidCursor')
      const resources: Resource[] = []
      const refusals: ScimError[] = []
      let total = 0
      for (const find of finders)
        try {
          const found = await find(call, asked, {
            ...page,
            first: Math.max(0, page.first - total),
            max: page.max - resources.length,
          })
          resources.push(...found.resources)
          total += found.total
        } catch (error) {
          // What only resources of the other type have, none of this type has.
          if (!(error instanceof ScimError) || error.scimType !== 'invalidFilter') throw error
          refusals.push(error)
        }
      const [refused] = refusals
      if (refused && refusals.length === finders.length) throw refused
      return listResponse(page, total, resources)
    }

    app.get(path, describedList, async (request, reply) =>
      sendJson(reply, 200, await list(request, readQuery(request.query))),
    )
    app.post(`${path}/.search`, describedSearch, async (request, reply) => {
      await admit(request)
      return sendJson(reply, 200, await list(request, readSearch(request.body)))
    })
  }
