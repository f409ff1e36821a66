/** `{base_url}/admin/audit/config`: the events that the server emits, and their receiver. */

import { invalid } from '#schemas/problems.ts'
import { categories } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import {
  configOf,
  defaultEmission,
  type Emission,
  type EmissionSettings,
  isForwarding,
} from '#server/audit/emission.ts'
import type { Forwarder } from '#server/audit/forwarder.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface AuditConfigParts {
  readonly emission: Emission
  readonly recorder: Recorder
  readonly outgoing: Pick<Outgoing, 'checkUrl'>
  readonly forwarder: Pick<Forwarder, 'beginStatements' | 'kick'>
}

type Body = Partial<EmissionSettings>

const path = '/admin/audit/config'
const resourceType = 'audit-config'

/** The longest wait for a receiver that is given: a batch waits for the one before it. */
const longestMs = 30_000

const described = {
  enabled: {
    type: 'boolean',
    default: defaultEmission.enabled,
    description: 'Whether events are forwarded; stdout is always on.',
  },
  httpUrl: {
    type: 'string',
    default: defaultEmission.httpUrl,
    maxLength: 2048,
    pattern: '^(https?://.+)?$',
    description: 'Where batches of events are sent by POST, as a JSON array; empty for nowhere.',
  },
  categories: {
    type: 'array',
    default: defaultEmission.categories,
    uniqueItems: true,
    items: { type: 'string', enum: categories },
    description: 'Categories that are printed and forwarded. All events are stored.',
  },
  timeoutMs: {
    type: 'integer',
    default: defaultEmission.timeoutMs,
    minimum: 100,
    maximum: longestMs,
  },
} as const

const shownOnly = {
  transports: { type: 'array', items: { type: 'string' }, readOnly: true },
  httpConfigured: { type: 'boolean', readOnly: true },
  authConfigured: { type: 'boolean', readOnly: true },
} as const

const authorization = {
  type: ['string', 'null'],
  writeOnly: true,
  minLength: 1,
  maxLength: 4096,
  pattern: '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$',
  description:
    'The value of the Authorization header, such as `Bearer …`; or `hmac:` and a secret of at least 16 characters, ' +
    'with which batches are signed as webhooks are. Left out it stays, null removes it.',
} as const

const reply = { status: 200, schema: bodyOf({ ...described, ...shownOnly }) } as const

const shortestSecret = 16

const refuse = (field: string, code: string, message: string) =>
  invalid([{ field: `/${field}`, code, message }])

const originOf = (url: string): string => URL.parse(url)?.origin ?? ''

export const auditConfigActions = (parts: AuditConfigParts): Action[] => {
  const { emission, recorder, outgoing, forwarder } = parts

  const checkUrl = (url: string): void => {
    if (url === '') return
    try {
      outgoing.checkUrl(url)
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      throw refuse('httpUrl', 'url', error.message)
    }
  }

  const settingsFrom = (body: Body, before: EmissionSettings): EmissionSettings => {
    const given = Object.fromEntries(
      Object.entries(body).filter(([name]) => name in before),
    ) as Partial<EmissionSettings>
    const after = { ...defaultEmission, authorization: before.authorization, ...given }
    checkUrl(after.httpUrl)
    // A caller who may not read the secret must not redirect it to another host either.
    const moved = after.httpUrl !== '' && originOf(after.httpUrl) !== originOf(before.httpUrl)
    if (before.authorization !== null && moved && body.authorization === undefined)
      throw refuse('authorization', 'required', 'give it again for another host, or null')
    const secret = /^hmac:(.*)$/.exec(after.authorization ?? '')?.[1]
    if (secret !== undefined && secret.length < shortestSecret)
      throw refuse(
        'authorization',
        'minLength',
        `a secret has at least ${shortestSecret} characters`,
      )
    return after
  }

  return [
    {
      operationId: 'read-audit-config',
      method: 'GET',
      path,
      permission: 'view-events',
      resourceType,
      summary: 'The emission of audit events: categories and receiver',
      reply,
      handle: async () => configOf(await emission.read()),
    },
    {
      operationId: 'replace-audit-config',
      method: 'PUT',
      path,
      permission: 'realm-admin',
      resourceType,
      events: ['ADMIN_UPDATE'],
      summary: 'Sets what of the audit trail the server emits, and where to',
      body: bodyOf({ ...described, ...shownOnly, authorization }, []),
      reply,
      handle: async (context) => {
        const before = await emission.read()
        const after = settingsFrom(asChecked<Body>(context.body), before)
        const changed = (Object.keys(after) as (keyof EmissionSettings)[]).filter(
          (name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]),
        )
        if (changed.length > 0) {
          const detail = changed.map((name) => `/${name}`).join(', ')
          const resource = { type: resourceType, id: 'server' }
          const begins = isForwarding(after) && !isForwarding(before)
          await recorder.commit(
            [
              ...emission.replaceStatements(after),
              ...(begins ? await forwarder.beginStatements() : []),
            ],
            [actionEvent(context, 'ADMIN_UPDATE', resource, detail)],
          )
          await emission.follow()
          forwarder.kick()
        }
        return configOf(after)
      },
    },
  ]
}
