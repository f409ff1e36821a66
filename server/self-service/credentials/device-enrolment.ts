/**
 * Enrolling a device: the user gets a token, the app on the device exchanges it for a challenge, signs that with a key it has
 * made, and is a factor of the user from then on.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalid, Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import {
  type DeviceJwk,
  deviceJwkSchema,
  publicPart,
  signatureSchema,
} from '#server/credentials/devices/device-keys.ts'
import {
  type Devices,
  enrolmentGuard,
  type Platform,
  platforms,
} from '#server/credentials/devices/devices.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { AccountCaller } from '#server/oidc/account-caller.ts'
import type { Preflights } from '#server/oidc/cors.ts'
import { freshIssuer, type RealmRoute } from '#server/oidc/issuer.ts'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { printable } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import { bodyReader, describe, objectOf } from '../description.ts'
import { accountCallers } from '../operation.ts'
import { insistOnRecentStrength } from './strength.ts'

export interface DeviceEnrolmentParts {
  readonly callerOf: AccountCaller
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly devices: Devices
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly users: Users
  readonly authenticator: Authenticator
  readonly storage: Storage
  readonly clock: Clock
  readonly preflights: Preflights
}

interface Enrolling {
  readonly deviceId: string
  readonly publicKeyJwk: DeviceJwk
  readonly pushToken: string
  readonly platform: Platform
  readonly signature: string
}

const permitBody = objectOf({ label: { type: 'string', maxLength: 255 } }, [])
const startBody = objectOf({ enrollmentToken: { type: 'string', minLength: 1, maxLength: 255 } })
const enrolBody = objectOf({
  deviceId: { type: 'string', minLength: 1, maxLength: 255 },
  publicKeyJwk: deviceJwkSchema,
  pushToken: { type: 'string', minLength: 16, maxLength: 4096 },
  platform: { type: 'string', enum: platforms },
  signature: { ...signatureSchema, description: 'Of the challenge, by the key.' },
})
const time = { type: 'integer', description: 'Milliseconds since 1970.' }

const describePermit = describe({
  operationId: 'permit-own-device',
  summary: 'A token by which a device of the user can be enrolled, once',
  body: permitBody,
  replies: { 201: objectOf({ enrollmentToken: { type: 'string' }, expiresAt: time }) },
  refusals: [400, 401, 403, 404],
  callers: accountCallers,
})
const describeStart = describe({
  operationId: 'start-device-enrollment',
  summary: 'Exchanges the token for a challenge that the key of the device signs',
  body: startBody,
  replies: {
    200: objectOf({
      challenge: { type: 'string' },
      deviceId: { type: 'string' },
      expiresAt: time,
    }),
  },
  refusals: [400, 401, 404],
})
const describeEnrol = describe({
  operationId: 'enroll-device',
  summary: 'Enrols the device as a factor of the user; the signature is over the challenge',
  body: enrolBody,
  replies: {
    201: objectOf({
      id: { type: 'string', format: 'uuid', description: 'Of the credential.' },
      deviceId: { type: 'string' },
      platform: { type: 'string', enum: platforms },
      userLabel: { type: ['string', 'null'] },
      createdDate: time,
    }),
  },
  refusals: [400, 404],
  events: ['UPDATE_CREDENTIAL'],
})

const noEnrolment = (): Problem =>
  new Problem('not-found', 'no such enrolment, or it has expired; start with a new token')

/** Runs what uses an enrolment up, and says `otherwise` where it was used up before. */
const once = async <T>(work: Promise<T>, otherwise: () => Problem): Promise<T> => {
  try {
    return await work
  } catch (error) {
    if (error instanceof GuardFailedError && error.guard === enrolmentGuard) throw otherwise()
    throw error
  }
}

export const deviceEnrolment = (parts: DeviceEnrolmentParts) => {
  const { issuers, callerOf, recorder, devices, users, authenticator, storage } = parts
  const readPermit = bodyReader<{ readonly label?: string }>(permitBody)
  const readStart = bodyReader<{ readonly enrollmentToken: string }>(startBody)
  const readEnrol = bodyReader<Enrolling>(enrolBody)

  const permit = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, request)
    const account = await callerOf(issuer, request, reply)
    await insistOnRecentStrength(parts, { ...account, issuer })
    const { label = '' } = readPermit(request)
    const { token, expiresAt, statements } = devices.permit(
      account.user,
      printable(label.trim(), 255) || null,
    )
    await storage.append(statements)
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ enrollmentToken: token, expiresAt })
  }

  const start = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { name } = await freshIssuer(issuers, request)
    const { enrollmentToken } = readStart(request)
    const { statements, ...started } = devices.start(name, enrollmentToken)
    const refusal = 'the enrollment token is unknown, used or expired; ask for a new one'
    await once(storage.commit(statements), () => new Problem('unauthenticated', refusal))
    return reply.header('cache-control', 'no-store').send(started)
  }

  const enrol = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { name: realm } = await freshIssuer(issuers, request)
    const { publicKeyJwk, ...device } = readEnrol(request)
    const enrolment = await devices.started(realm, device.deviceId)
    const user = enrolment && (await users.find(realm, enrolment.user_id))
    if (!enrolment || !user) throw noEnrolment()
    const jwk = publicPart(publicKeyJwk)
    if (!jwk)
      throw invalid([
        { field: '/publicKeyJwk', code: 'key', message: 'must be a key on P-256 or Ed25519' },
      ])
    const made = devices.enrol(enrolment, { ...device, jwk })
    if (!made)
      throw invalid([
        { field: '/signature', code: 'signature', message: 'must be of the challenge, by the key' },
      ])
    const event = {
      type: 'UPDATE_CREDENTIAL',
      realm,
      actor: user.id,
      sourceIp: request.ip,
      outcome: 'SUCCESS',
      resourceType: 'users',
      resourceId: user.id,
      detail: made.row.type,
    } as const
    const statements = [authenticator.stillAllowed(user), ...made.statements]
    await once(recorder.commit(statements, [event]), noEnrolment)
    const { id, label, created_at } = made.row
    const { deviceId, platform } = device
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ id, deviceId, platform, userLabel: label, createdDate: created_at })
  }

  return (app: FastifyInstance): void => {
    const devicesUrl = '/realms/:realm/account/devices'
    app.post<RealmRoute>(devicesUrl, describePermit, permit)
    parts.preflights(app, devicesUrl, 'POST')
    app.post<RealmRoute>('/realms/:realm/device/enroll/start', describeStart, start)
    app.post<RealmRoute>('/realms/:realm/device/enroll', describeEnrol, enrol)
  }
}
