/** Users and groups in one list: by GET at the root, or by POST (RFC 7644 §3.4.2.1, §3.4.3). */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admit } from '../caller.ts'
import { listQuery, listSchema, type SearchedBy } from '../description/json-schemas.ts'
import { describeScim, describeSearch } from '../description/operations.ts'
import { ScimError } from '../errors.ts'
import { type Asked, listResponse, readPage, readQuery, readSearch } from '../paging.ts'
import { sendJson } from '../replies.ts'
import type { Resource } from '../schema/attribute.ts'
import { isSortable } from '../schema/searchable.ts'
import { filterFor, inOrder, type Searched } from './types.ts'

const anything = listSchema({ type: 'object' }, 'resource')
const by: SearchedBy = {
  filter: 'what users or groups can be filtered by',
  sortBy: 'what either users or groups can be sorted by, and not both',
}
const describedList = describeScim({
  operationId: 'scim-list-resources',
  summary: 'Users and groups of the realm (RFC 7644 §3.4.2.1)',
  replies: { 200: anything },
  query: listQuery(by),
  refusals: [],
})
const describedSearch = describeSearch(
  'resources',
  'Users and groups of the realm, by POST (RFC 7644 §3.4.3)',
  anything,
  by,
)

export const searchAllRoutes =
  (
    { admit, types }: { readonly admit: Admit; readonly types: readonly Searched[] },
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
      let total = 0
      for (const one of inOrder(types, page)) {
        const found = await one.find(call, asked, {
          ...page,
          filter: page.filter && filterFor(one, types, page.filter),
          sortBy: page.sortBy && isSortable(one.type, page.sortBy) ? page.sortBy : undefined,
          first: Math.max(0, page.first - total),
          max: page.max - resources.length,
        })
        resources.push(...found.resources)
        total += found.total
      }
      return listResponse(page, total, resources)
    }

    const listRoot = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      sendJson(reply, 200, await list(request, readQuery(request.query)))
    app.get(path, describedList, listRoot)
    // RFC 7644 §3.4.2.1 writes the root of the server as "/" below the base URL.
    app.get(`${path}/`, { config: { events: [] } }, listRoot)
    app.post(`${path}/.search`, describedSearch, async (request, reply) => {
      await admit(request)
      return sendJson(reply, 200, await list(request, readSearch(request.body)))
    })
  }
