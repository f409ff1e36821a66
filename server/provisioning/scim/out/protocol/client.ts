/**
 * The requests of SCIM (RFC 7644 §3) to one target, through the guarded client and never faster than the target allows. A
 * response that is no success is thrown as a refusal that says whether the resource or the whole target is the reason.
 */

import type { OutgoingRequest } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { refusal } from '#server/storage/values.ts'
import type { ScimTargetInUse } from '../target.ts'
import type { PatchOperation } from '../user-resource.ts'
import type { AccessTokens } from './access-tokens.ts'
import { isMissing, ScimRefusal } from './refusal.ts'
import type { RequestRate } from './request-rate.ts'

export type ResourceType = 'Users' | 'Groups'

export interface RemoteResource extends Readonly<Record<string, unknown>> {
  readonly id: string
}

export type Page = { readonly count: number } & (
  | { readonly startIndex: number }
  | { readonly cursor: string }
)

export interface ScimClientParts {
  readonly request: (request: OutgoingRequest) => Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: Uint8Array
  }>
  readonly tokens: AccessTokens
  readonly awaitTurn: RequestRate
  readonly now: () => number
  readonly signal?: AbortSignal | undefined
}

const mediaType = 'application/scim+json'
const timeoutMs = 15_000
const largestAnswer = 4 * 1024 * 1024
/** A group with its members, some 80,000 of them. */
const largestGroup = 4 * largestAnswer
const longestDetail = 200
const longestId = 500

/** Seconds or a date (RFC 9110 §10.2.3). */
const retryAfterOf = (value: string | undefined, now: number): number | null => {
  const text = value?.trim() ?? ''
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(ms) && ms > 0 ? ms : null
}

/** The detail of an error (RFC 7644 §3.12), short and on one line: it is stored for administrators, who may not read the token. */
const detailOf = (body: unknown, token: string): string => {
  const detail = (body as { detail?: unknown } | null)?.detail
  if (typeof detail !== 'string') return ''
  const line = detail.replaceAll(token, '…').replaceAll(/[\s\p{Cc}]+/gu, ' ')
  return `: ${line.slice(0, longestDetail).toWellFormed()}`
}

const jsonOf = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return null
  }
}

/**
 * The body of a success: an object, or none at all (RFC 7644 §3.5.2, §3.6). A page for people, as proxies and maintenance answer it
 * with 200, is no success: a leaver would count as deactivated.
 */
const successOf = (body: Uint8Array): object | undefined | 'none' => {
  if (Buffer.from(body).toString('utf8').trim() === '') return 'none'
  const value = jsonOf(body)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

/** The same of an answer that may have been cut off. */
const isSuccess = (body: Uint8Array): boolean =>
  body.length < largestAnswer
    ? successOf(body) !== undefined
    : Buffer.from(body.subarray(0, 100)).toString('utf8').trimStart().startsWith('{')

/** With an id that can be stored, and be a part of an address. */
const isResource = (value: unknown): value is RemoteResource => {
  const id = (value as { id?: unknown } | null)?.id
  if (typeof id !== 'string' || id === '' || id.length > longestId) return false
  return refusal(id) === undefined
}

/** A string of a filter (RFC 7644 §3.4.2.2: as JSON). */
const quoted = (value: string): string => JSON.stringify(value)

export const createScimClient = (target: ScimTargetInUse, parts: ScimClientParts) => {
  const { request, tokens, awaitTurn, now, signal } = parts

  const once = async (
    token: string,
    method: OutgoingRequest['method'],
    path: string,
    body: unknown,
    limits: Pick<OutgoingRequest, 'maxBytes' | 'cutBody'>,
  ) => {
    await awaitTurn(signal)
    try {
      return await request({
        url: `${target.root}${path}`,
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: mediaType,
          ...(body === undefined ? {} : { 'content-type': mediaType }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        timeoutMs,
        ...limits,
        signal,
      })
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      // Other resources have shorter answers.
      throw new ScimRefusal(error.message, error.code === 'outgoing.size' ? 502 : null)
    }
  }

  /** The body of a success, and the words for it. */
  const exchange = async (
    method: NonNullable<OutgoingRequest['method']>,
    path: string,
    body: unknown,
    limits: Pick<OutgoingRequest, 'maxBytes' | 'cutBody'>,
  ): Promise<{ readonly success: Uint8Array; readonly what: string }> => {
    let token = await tokens.of(target, signal)
    let answer = await once(token, method, path, body, limits)
    // An access token may have been revoked before its time.
    if (answer.status === 401 && tokens.drop(target, token)) {
      token = await tokens.of(target, signal)
      answer = await once(token, method, path, body, limits)
    }
    const { status, headers } = answer
    const what = `${method} ${path.replace(/\?.*$/, '')} is answered ${status}`
    if (status >= 200 && status < 300) return { success: answer.body, what }
    throw new ScimRefusal(
      `${what}${detailOf(jsonOf(answer.body), token)}`,
      status,
      retryAfterOf(headers['retry-after'], now()),
    )
  }

  const notScim = (what: string): ScimRefusal =>
    new ScimRefusal(`${what} with something else than SCIM`, 502)

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    maxBytes = largestAnswer,
  ): Promise<object | null> => {
    const { success, what } = await exchange(method, path, body, { maxBytes })
    const read = successOf(success)
    if (read === undefined) throw notScim(what)
    return read === 'none' ? null : read
  }

  /** The answer may be a group with all of its members: of that, the beginning is enough. */
  const write = async (
    method: 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<void> => {
    const limits = { maxBytes: largestAnswer, cutBody: true }
    const { success, what } = await exchange(method, path, body, limits)
    if (!isSuccess(success)) throw notScim(what)
  }

  /** Where they are not needed: they may be many (RFC 7644 §3.9). */
  const withoutMembers = (type: ResourceType): Readonly<Record<string, string>> =>
    type === 'Groups' && target.profile.answersMembers ? { excludedAttributes: 'members' } : {}

  const at = (type: ResourceType, id: string): string => `/${type}/${encodeURIComponent(id)}`

  const list = async (type: ResourceType, query: Readonly<Record<string, string>>) => {
    const answer = (await send('GET', `/${type}?${new URLSearchParams(query)}`)) as {
      readonly totalResults?: unknown
      readonly nextCursor?: unknown
      readonly Resources?: unknown
    } | null
    // A list of nothing may have no Resources, but it says so (RFC 7644 §3.4.2).
    if (!Array.isArray(answer?.Resources) && answer?.totalResults === undefined)
      throw new ScimRefusal(`GET /${type} is answered without a list`, 502)
    const resources = Array.isArray(answer.Resources) ? answer.Resources.filter(isResource) : []
    const next = answer.nextCursor
    return {
      resources,
      total: Number(answer.totalResults ?? resources.length),
      nextCursor: typeof next === 'string' && next !== '' ? next : undefined,
    }
  }

  const readAs = async (
    path: string,
    type: ResourceType,
    maxBytes?: number,
  ): Promise<RemoteResource> => {
    const found = await send('GET', path, undefined, maxBytes)
    if (!isResource(found))
      throw new ScimRefusal(`GET /${type} is answered without an id that can be used`, 502)
    return found
  }

  return {
    config: () => send('GET', '/ServiceProviderConfig'),

    /** The one resource whose attribute has exactly this value; undefined where there is none, or where it is not clear which. */
    find: async (
      type: ResourceType,
      attribute: string,
      value: string,
    ): Promise<RemoteResource | undefined> => {
      const { resources } = await list(type, {
        filter: `${attribute} eq ${quoted(value)}`,
        ...withoutMembers(type),
      })
      // Some targets ignore a filter that they do not know: what they answer is compared again.
      const same = resources.filter(
        (one) => String(one[attribute]).toLowerCase() === value.toLowerCase(),
      )
      return same.length === 1 ? same[0] : undefined
    },

    read: (type: ResourceType, id: string): Promise<RemoteResource> =>
      readAs(at(type, id), type, type === 'Groups' ? largestGroup : largestAnswer),

    exists: async (type: ResourceType, id: string): Promise<boolean> => {
      try {
        const query = new URLSearchParams(withoutMembers(type)).toString()
        await readAs(query === '' ? at(type, id) : `${at(type, id)}?${query}`, type)
        return true
      } catch (error) {
        if (isMissing(error)) return false
        throw error
      }
    },

    /** Of a target that answers groups without members: AWS IAM Identity Center takes this filter. */
    hasMember: async (group: string, user: string): Promise<boolean> => {
      const filter = `id eq ${quoted(group)} and members eq ${quoted(user)}`
      const { resources } = await list('Groups', { filter })
      return resources.some(({ id }) => id === group)
    },

    /** A page of users; the first cursor is empty (RFC 9865 §2). */
    page: ({ count, ...from }: Page) =>
      list('Users', {
        count: String(count),
        ...('cursor' in from
          ? { cursor: from.cursor }
          : // Not every target knows the parameter, and 1 is where a list begins without it.
            from.startIndex > 1
            ? { startIndex: String(from.startIndex) }
            : {}),
      }),

    create: async (type: ResourceType, resource: object): Promise<RemoteResource> => {
      const made = await send('POST', `/${type}`, resource)
      if (!isResource(made))
        throw new ScimRefusal(`POST /${type} is answered without an id that can be used`, 502)
      return made
    },

    patch: (type: ResourceType, id: string, operations: readonly (PatchOperation | object)[]) =>
      write('PATCH', at(type, id), {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: operations,
      }),

    replace: (type: ResourceType, id: string, resource: object) =>
      write('PUT', at(type, id), { ...resource, id }),

    remove: (type: ResourceType, id: string) => write('DELETE', at(type, id)),
  }
}

export type ScimClient = ReturnType<typeof createScimClient>
