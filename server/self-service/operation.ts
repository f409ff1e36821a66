/** One thing that users do about their account by JSON, below `/realms/{realm}/account`, by token or by session. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { wantsPage } from '#server/http/wants-page.ts'
import type { AccountCaller } from '#server/oidc/account-caller.ts'
import type { Preflights } from '#server/oidc/cors.ts'
import { freshIssuer, type RealmRoute } from '#server/oidc/issuer.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { bodyReader, type Description, describe } from './description.ts'
import type { Self } from './self.ts'

export type Params = RealmRoute['Params'] & {
  readonly id: string
  readonly clientId: string
}

export type SelfRequest = FastifyRequest<{ Params: Params }>

export interface Operation extends Description {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Below the account. */
  readonly path: string
  /** What a browser saves the answer as. */
  readonly fileName?: string
  /** Answered with the first status of `replies`. */
  readonly handle: (self: Self, request: SelfRequest) => Promise<unknown>
}

/** One that takes a body, which is checked by the schema that describes it. */
export const withBody = <T>(
  body: JsonSchema,
  {
    handle,
    ...operation
  }: Omit<Operation, 'body' | 'handle'> & {
    readonly handle: (self: Self, body: T) => Promise<unknown>
  },
): Operation => {
  const read = bodyReader<T>(body)
  return { ...operation, body, handle: (self, request) => handle(self, read(request)) }
}

export interface OperationParts {
  readonly callerOf: AccountCaller
  readonly issuers: Issuers
  readonly preflights: Preflights
}

export type Handler = (request: SelfRequest, reply: FastifyReply) => Promise<FastifyReply>

export const accountUrl = (path: string): string => `/realms/:realm/account${path}`

/** The allowed callers of an operation. */
export const accountCallers = ['session', 'account-token'] as const

export const nothing = { description: 'Done.', type: 'null' } as const

/** How an address is described that browsers find a page at. */
const withPage = (operation: Operation): Operation => ({
  ...operation,
  summary: `${operation.summary}; a page for browsers`,
  replies: {
    ...operation.replies,
    303: { description: 'Of a browser: to the sign-in page.', type: 'null' },
  },
})

/** Adds the routes; `pageAt` is what a browser gets where an operation and a page have the same address. */
export const addOperations = (
  app: FastifyInstance,
  { issuers, preflights, callerOf }: OperationParts,
  operations: readonly Operation[],
  pageAt: (path: string) => Handler | undefined,
): void => {
  const handlerOf =
    ({ replies, handle, fileName }: Operation): Handler =>
    async (request, reply) => {
      const issuer = await freshIssuer(issuers, request)
      const account = await callerOf(issuer, request, reply)
      const answer = await handle({ ...account, issuer, address: request.ip }, request)
      const [status] = Object.keys(replies)
      if (fileName !== undefined)
        reply.header('content-disposition', `attachment; filename="${fileName}"`)
      return reply.code(Number(status)).header('cache-control', 'no-store').send(answer)
    }

  for (const operation of operations) {
    const { method, path } = operation
    const json = handlerOf(operation)
    const page = method === 'GET' ? pageAt(path) : undefined
    app.route<{ Params: Params }>({
      method,
      url: accountUrl(path),
      ...describe({ ...(page ? withPage(operation) : operation), callers: accountCallers }),
      handler: page
        ? (request, reply) => {
            reply.header('vary', 'Accept')
            return wantsPage(request) ? page(request, reply) : json(request, reply)
          }
        : json,
    })
  }
  const byPath = Map.groupBy(operations, ({ path }) => path)
  for (const [path, those] of byPath)
    preflights(app, accountUrl(path), those.map(({ method }) => method).join(', '))
}
