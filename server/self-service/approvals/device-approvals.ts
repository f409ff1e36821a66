/**
 * CIBA requests, decided by an enrolled device of the user. The app has neither cookie nor token: its key signs the shown
 * data, and a signature is valid for one decision on one request (docs/decisions/device-approvals.md). Without a valid
 * signature of a device of that user the response reveals nothing.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { isSignedBy, signatureSchema } from '#server/credentials/devices/device-keys.ts'
import { type Device, type Devices, deviceType } from '#server/credentials/devices/devices.ts'
import { digestOf } from '#server/credentials/devices/signed-fields.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { pingQueue } from '#server/oidc/decoupled/ciba-ping.ts'
import type { CibaRequests } from '#server/oidc/decoupled/ciba-requests.ts'
import type { Decisions } from '#server/oidc/decoupled/decoupled-decisions.ts'
import type { DecoupledRow } from '#server/oidc/decoupled/decoupled-requests.ts'
import { freshIssuer } from '#server/oidc/issuer.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { levelOf } from '#server/sign-in/flow/levels.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Users } from '#server/users/users.ts'
import { bodyReader, describe, objectOf } from '../description.ts'

export interface DeviceApprovalParts {
  readonly issuers: Issuers
  readonly clock: Clock
  readonly requests: CibaRequests
  readonly recorder: Recorder
  readonly jobs: Pick<Jobs, 'wake'>
  readonly decisions: Decisions
  readonly users: Users
  readonly devices: Devices
  readonly sessions: Sessions
}

interface ApprovalRoute {
  Params: { realm: string; id: string }
}

type ApprovalRequest = FastifyRequest<ApprovalRoute>

interface Signed {
  readonly deviceId: string
  readonly signature: string
}

/** A request with all that a decision on it is about. */
interface Asked {
  readonly issuer: Issuer
  readonly row: DecoupledRow
  readonly user: UserRow
  readonly client: TokenClient
  readonly device: Device
}

/** What a device is in the `amr` of a token (RFC 8176 §2), as where it is a step of a sign-in. */
const amr = ['swk']

const decisionsOf = ['allow', 'deny'] as const
type Decision = (typeof decisionsOf)[number]

const signed = {
  deviceId: { type: 'string', minLength: 1, maxLength: 255 },
  signature: signatureSchema,
} as const
const readBody = objectOf(signed)
const decideBody = objectOf({ ...signed, decision: { type: 'string', enum: decisionsOf } })
const time = { type: 'integer', description: 'Milliseconds since 1970.' }
const status = { type: 'string', enum: ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED'] }

const describeRead = describe({
  operationId: 'read-device-approval',
  summary: 'A pending CIBA request, for an enrolled device of the user',
  body: readBody,
  replies: {
    200: objectOf({
      id: { type: 'string' },
      status,
      clientId: { type: 'string' },
      clientName: { type: 'string' },
      userId: { type: 'string', format: 'uuid' },
      bindingMessage: { type: 'string', description: 'To be shown; empty where there is none.' },
      scope: { type: 'string' },
      expiresAt: time,
    }),
  },
  refusals: [400, 404],
})
const describeDecide = describe({
  operationId: 'decide-device-approval',
  summary: 'The decision of the user, signed by the key of the device',
  body: decideBody,
  replies: { 200: objectOf({ id: { type: 'string' }, status }) },
  refusals: [400, 404, 409, 410],
  events: ['GRANT_CONSENT', 'MFA_FAILURE'],
})

/** The same whether there is no such request, no such device, or it is not for this one. */
const missing = (): Problem => new Problem('not-found', 'there is no such request for this device')

export const deviceApprovals = (parts: DeviceApprovalParts) => {
  const { issuers, clock, requests, decisions, recorder, jobs, users, devices, sessions } = parts
  const readSigned = bodyReader<Signed>(readBody)
  const readDecision = bodyReader<Signed & { readonly decision: Decision }>(decideBody)

  const statusOf = ({ status: is, expires_at }: DecoupledRow) =>
    is === 'PENDING' && expires_at <= clock.now() ? 'EXPIRED' : is

  const find = async (request: ApprovalRequest, deviceId: string): Promise<Asked> => {
    const issuer = await freshIssuer(issuers, request)
    const row = await requests.byId(issuer.name, request.params.id)
    const user = row?.user_id ? await users.find(issuer.name, row.user_id) : undefined
    const client = row && (await decisions.clientOf(issuer, row))
    if (!row || !client || user?.enabled !== 1 || user.locked !== 0) throw missing()
    const device = (await devices.of(user.id)).find((one) => one.deviceId === deviceId)
    if (!device) throw missing()
    return { issuer, row, user, client, device }
  }

  const decisionDigest = ({ issuer, row, user, client }: Asked, decision: Decision): Buffer => {
    const { bindingMessage = '', scope } = requests.dataOf(row)
    return digestOf([
      'iamctl-approval-1',
      issuer.url,
      row.id,
      decision,
      client.clientId,
      user.id,
      bindingMessage,
      scope.join(' '),
      String(row.expires_at),
    ])
  }

  const insistOnOpen = (row: DecoupledRow): void => {
    const is = statusOf(row)
    if (is === 'EXPIRED') throw new Problem('gone', 'the request has expired')
    if (is !== 'PENDING') throw new Problem('conflict', 'the request was answered already')
  }

  const read = async (request: ApprovalRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { deviceId, signature } = readSigned(request)
    const { issuer, row, user, client, device } = await find(request, deviceId)
    const digest = digestOf(['iamctl-approval-read-1', issuer.url, row.id, deviceId])
    if (!isSignedBy(device.jwk, digest, signature)) throw missing()
    const { bindingMessage = '', scope } = requests.dataOf(row)
    return reply.header('cache-control', 'no-store').send({
      id: row.id,
      status: statusOf(row),
      clientId: client.clientId,
      clientName: displayNameOf(client.doc),
      userId: user.id,
      bindingMessage,
      scope: scope.join(' '),
      expiresAt: row.expires_at,
    })
  }

  const recordForgery = async ({ issuer, user }: Asked, request: FastifyRequest): Promise<void> => {
    const event = {
      type: 'MFA_FAILURE',
      realm: issuer.name,
      actor: user.id,
      sourceIp: request.ip,
      outcome: 'FAILURE',
      detail: `${deviceType}-signature`,
    } as const
    await recorder.append([], [event])
  }

  const decide = async (request: ApprovalRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { deviceId, signature, decision } = readDecision(request)
    const asked = await find(request, deviceId)
    const { issuer, row, user, device } = asked
    if (!isSignedBy(device.jwk, decisionDigest(asked, decision), signature)) {
      await recordForgery(asked, request)
      throw missing()
    }
    insistOnOpen(row)
    const allowed = decision === 'allow'
    // What is issued ends with a session, which the user and administrators see and can end.
    const opened = sessions.openStatements({
      realm: issuer.name,
      userId: user.id,
      ip: request.ip,
      userAgent: request.headers['user-agent'],
      rememberMe: false,
      settings: issuer.settings,
      amr,
      acr: levelOf(amr),
    })
    const decider = { request, issuer, user, session: opened.session }
    const before = allowed ? opened.statements : []
    if (!(await decisions.decide(decider, row, allowed, before))) {
      insistOnOpen((await requests.byId(issuer.name, row.id)) ?? row)
      throw new Problem('conflict', 'the request was answered at the same moment')
    }
    jobs.wake(pingQueue)
    return reply
      .header('cache-control', 'no-store')
      .send({ id: row.id, status: allowed ? 'APPROVED' : 'DENIED' })
  }

  return (app: FastifyInstance): void => {
    const url = '/realms/:realm/device/approvals/:id'
    app.post<ApprovalRoute>(url, describeRead, read)
    app.post<ApprovalRoute>(`${url}/decision`, describeDecide, decide)
  }
}
