/** The device authorization endpoint (RFC 8628 §3.1): a device gets a user code to show, and a device code to poll with. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { allowedResources } from '#server/tokens/access/audience.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { allowOriginOf, type Preflights } from '../cors.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { unauthorizedClient } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters } from '../parameters.ts'
import type { RecordRefusal } from '../record-refusal.ts'
import type { GrantPlace } from '../token/issue.ts'
import { pollInterval } from './decoupled-requests.ts'
import { deviceLifetime, shownCode } from './device-requests.ts'
import { type DeviceVerificationParts, deviceVerification } from './device-verification.ts'

export interface DeviceParts extends DeviceVerificationParts {
  readonly issuers: Issuers
  readonly recordRefusal: RecordRefusal
  readonly authenticateClient: AuthenticateClient
  readonly preflights: Preflights
  readonly agents: Pick<Agents, 'granted'>
}

const path = '/device'

const answerSchema = {
  description: 'The codes, and where the user goes (RFC 8628 §3.2).',
  type: 'object',
  properties: {
    device_code: { type: 'string' },
    user_code: { type: 'string' },
    verification_uri: { type: 'string', format: 'uri' },
    verification_uri_complete: { type: 'string', format: 'uri' },
    expires_in: { type: 'integer' },
    interval: { type: 'integer' },
  },
  required: ['device_code', 'user_code', 'verification_uri', 'expires_in'],
  additionalProperties: false,
} as const

const description = describe({
  operationId: 'authorize-device',
  summary: 'Codes for a device whose user signs in elsewhere (RFC 8628)',
  form: {
    scope: 'Scopes, separated by spaces.',
    resource: 'What the token is for (RFC 8707); may be repeated.',
    ...clientParameters,
  },
  replies: { 200: answerSchema, ...refusals(400, 401) },
  events: ['CLIENT_LOGIN'],
})

export const deviceAuthorization = (parts: DeviceParts): Endpoint => {
  const { issuers, requests, recordRefusal, authenticateClient, preflights, agents } = parts

  const start = async ({ issuer, client }: GrantPlace, form: Parameters) => {
    if (!client.doc.grantTypes.includes('device'))
      throw unauthorizedClient('the client may not use the device grant')
    return requests.create(issuer.name, client.id, {
      scope: await agents.granted(issuer.view, client, form.get('scope')),
      resources: allowedResources(client, form.all('resource')),
    })
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    const { client } = await authenticateClient(issuer, request, form)
    allowOriginOf(client, request, reply)
    const place = { issuer, client, sourceIp: request.ip }
    const { deviceCode, userCode } = await start(place, form).catch(async (error) => {
      throw await recordRefusal('CLIENT_LOGIN', place, error)
    })
    const shown = shownCode(userCode)
    const answer = {
      device_code: deviceCode,
      user_code: shown,
      verification_uri: `${issuer.url}${path}`,
      verification_uri_complete: `${issuer.url}${path}?user_code=${shown}`,
      expires_in: deviceLifetime,
      interval: pollInterval,
    }
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
  }

  return {
    path,
    member: 'device_authorization_endpoint',
    routes: (app) => {
      app.post<RealmRoute>(urlOf(path), description, handle)
      preflights(app, urlOf(path), 'POST')
      app.register(deviceVerification(parts))
    },
  }
}
