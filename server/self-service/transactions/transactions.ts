/**
 * Transactions over HTTP (`/tx`): created by a client for a user, signed by that user, consumed once by that client. Other
 * callers get 404.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { isSignedBy } from '#server/credentials/devices/device-keys.ts'
import type { Devices } from '#server/credentials/devices/devices.ts'
import { type Transactions, transactionGuard } from '#server/credentials/devices/transactions.ts'
import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { Preflights } from '#server/oidc/cors.ts'
import { freshIssuer, type RealmRoute } from '#server/oidc/issuer.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { TransactionRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Users } from '#server/users/users.ts'
import { type BearerCaller, type BearerCallerParts, createBearerCaller } from '../bearer-caller.ts'
import { bodyReader } from '../description.ts'
import {
  createBody,
  describeConsume,
  describeCreate,
  describeRead,
  describeSign,
  type NewTransactionBody,
  type SignBody,
  signBody,
  usualTtl,
} from './describe-transactions.ts'

export interface TransactionParts extends BearerCallerParts {
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly users: Users
  readonly devices: Devices
  readonly passkeys: Passkeys
  readonly transactions: Transactions
  readonly preflights: Preflights
}

interface TransactionRoute {
  Params: { realm: string; id: string }
}

interface Turn extends BearerCaller {
  readonly request: FastifyRequest
  readonly issuer: Issuer
}

const missing = (): Problem => new Problem('not-found', 'there is no such transaction')

const fieldError = (field: string, message: string): Problem =>
  invalid([{ field, code: 'invalid', message }])

const isOf = ({ user }: BearerCaller, row: TransactionRow): boolean => user?.id === row.user_id

/** The client that created it, with or without a user token. */
const hasMade = (caller: BearerCaller, row: TransactionRow): boolean =>
  caller.client.id === row.client_id && (caller.user === undefined || isOf(caller, row))

export const transactionRoutes = (parts: TransactionParts) => {
  const { issuers, recorder, users, devices, passkeys, transactions } = parts
  const callerOf = createBearerCaller(parts)
  const readCreate = bodyReader<NewTransactionBody>(createBody)
  const readSign = bodyReader<SignBody>(signBody)

  const turnOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<Turn> => {
    const issuer = await freshIssuer(issuers, request)
    const caller = await callerOf(issuer, request, reply)
    reply.header('cache-control', 'no-store')
    return { ...caller, request, issuer }
  }

  const event = (
    { issuer, request, user, client }: Turn,
    type: EventType,
    { id }: TransactionRow,
    outcome: AuditEvent['outcome'] = 'SUCCESS',
  ): AuditEvent => ({
    type,
    realm: issuer.name,
    actor: user?.id ?? client.id,
    sourceIp: request.ip,
    outcome,
    resourceType: 'transactions',
    resourceId: id,
  })

  const short = (row: TransactionRow) => ({
    id: row.id,
    status: transactions.statusOf(row),
    hash: row.hash,
    expiresAt: row.expires_at,
  })

  const find = async (
    { issuer }: Turn,
    id: string,
    isVisible: (row: TransactionRow) => boolean,
  ): Promise<TransactionRow> => {
    const row = await transactions.find(issuer.name, id)
    if (!row || !isVisible(row)) throw missing()
    return row
  }

  const insistOn = (row: TransactionRow, wanted: 'PENDING' | 'SIGNED'): void => {
    const status = transactions.statusOf(row)
    if (status === 'EXPIRED') throw new Problem('gone', 'the transaction has expired')
    if (status !== wanted)
      throw new Problem('conflict', `the transaction is ${status}, and not ${wanted}`)
  }

  /** Goes on from one state to the next; of several who try at once, one does. */
  const advance = async (
    turn: Turn,
    row: TransactionRow,
    wanted: 'PENDING' | 'SIGNED',
    statements: readonly Statement[],
    told: AuditEvent,
  ): Promise<TransactionRow> => {
    try {
      await recorder.commit(statements, [told])
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
      if (error.guard === transactionGuard) insistOn(await find(turn, row.id, () => true), wanted)
      throw error
    }
    return find(turn, row.id, () => true)
  }

  /** With a user token the signer is that user; a client without a user must name one. */
  const signerOf = async ({ issuer, user }: Turn, userId: string | undefined): Promise<UserRow> => {
    if (user && (userId === undefined || userId === user.id)) return user
    if (userId === undefined) throw fieldError('/userId', 'is missing: name the user who signs')
    const found = user ? undefined : await users.find(issuer.name, userId)
    if (found?.enabled !== 1) throw fieldError('/userId', 'is not a user who can sign')
    return found
  }

  const create = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const turn = await turnOf(request, reply)
    const { type, payload, displayText, userId, ttl = usualTtl } = readCreate(request)
    const signer = await signerOf(turn, userId)
    const { row, statements } = transactions.create({
      realm: turn.issuer.name,
      client_id: turn.client.id,
      clientId: turn.client.clientId,
      user_id: signer.id,
      type,
      payload,
      display_text: displayText,
      lifetimeMs: ttl * 1000,
    })
    await recorder.append(statements, [event(turn, 'CREATE_TRANSACTION', row)])
    return reply.code(201).send(short(row))
  }

  const read = async (
    request: FastifyRequest<TransactionRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const turn = await turnOf(request, reply)
    const row = await find(turn, request.params.id, (one) => isOf(turn, one) || hasMade(turn, one))
    return reply.send({
      ...short(row),
      type: row.type,
      payload: row.payload,
      displayText: row.display_text,
      userId: row.user_id,
      clientId: (await turn.issuer.view.byId(Client.kind, row.client_id))?.key ?? '',
      credentialId: row.credential_id,
      createdAt: row.created_at,
    })
  }

  /** What the proof uses up; undefined where it is none of this key. */
  const proofOf = async (
    { issuer }: Turn,
    user: UserRow,
    { hash }: TransactionRow,
    { credentialId, signature, assertion }: SignBody,
  ): Promise<readonly Statement[] | undefined> => {
    if (signature !== undefined) {
      const device = (await devices.of(user.id)).find(({ row }) => row.id === credentialId)
      const digest = Buffer.from(hash, 'base64url')
      return device && isSignedBy(device.jwk, digest, signature) ? [] : undefined
    }
    const response = JSON.stringify(assertion)
    const proved = await passkeys.verifyChallenge(issuer.settings, user, hash, response)
    return proved?.row.id === credentialId ? proved.statements : undefined
  }

  const sign = async (
    request: FastifyRequest<TransactionRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const turn = await turnOf(request, reply)
    const { user } = turn
    const row = await find(turn, request.params.id, (one) => isOf(turn, one))
    const body = readSign(request)
    if (!user) throw missing()
    if ((body.signature === undefined) === (body.assertion === undefined))
      throw fieldError('/signature', 'or /assertion must be there, and not both')
    insistOn(row, 'PENDING')
    const proof = await proofOf(turn, user, row, body)
    if (!proof) {
      await recorder.append([], [event(turn, 'SIGN_TRANSACTION', row, 'FAILURE')])
      const field = body.signature === undefined ? '/assertion' : '/signature'
      throw fieldError(field, 'must be of the hash, by the credential that is named')
    }
    const statements = [...transactions.sign(row, body.credentialId), ...proof]
    const told = event(turn, 'SIGN_TRANSACTION', row)
    return reply.send(short(await advance(turn, row, 'PENDING', statements, told)))
  }

  const consume = async (
    request: FastifyRequest<TransactionRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const turn = await turnOf(request, reply)
    const row = await find(turn, request.params.id, (one) => hasMade(turn, one))
    insistOn(row, 'SIGNED')
    const told = event(turn, 'CONSUME_TRANSACTION', row)
    return reply.send(short(await advance(turn, row, 'SIGNED', transactions.consume(row), told)))
  }

  return (app: FastifyInstance): void => {
    const url = '/realms/:realm/tx'
    app.post<RealmRoute>(url, describeCreate, create)
    app.get<TransactionRoute>(`${url}/:id`, describeRead, read)
    app.post<TransactionRoute>(`${url}/:id/sign`, describeSign, sign)
    app.post<TransactionRoute>(`${url}/:id/consume`, describeConsume, consume)
    parts.preflights(app, url, 'POST')
    parts.preflights(app, `${url}/:id`, 'GET')
    parts.preflights(app, `${url}/:id/sign`, 'POST')
    parts.preflights(app, `${url}/:id/consume`, 'POST')
  }
}
