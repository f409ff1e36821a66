/** Users and groups in one list, users first: by GET at the root, or by POST (RFC 7644 §3.4.2.1, §3.4.3). */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admit, ScimCall } from './caller.ts'
import { ScimError } from './errors.ts'
import { type Asked, listResponse, type Page, readPage, readQuery, readSearch } from './paging.ts'
import { sendJson } from './replies.ts'
import type { Resource } from './schema/attribute.ts'

/** A page of one type: its resources, and how many there are in all. */
export type FindPage = (
  call: ScimCall,
  asked: Asked,
  page: Page,
) => Promise<{ readonly resources: readonly Resource[]; readonly total: number }>

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

    app.get(path, async (request, reply) =>
      sendJson(reply, 200, await list(request, readQuery(request.query))),
    )
    app.post(`${path}/.search`, { config: { events: [] } }, async (request, reply) => {
      await admit(request)
      return sendJson(reply, 200, await list(request, readSearch(request.body)))
    })
  }
