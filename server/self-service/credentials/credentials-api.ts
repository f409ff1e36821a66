/** Credentials of the user by JSON: a factor is added in two steps, begun and confirmed. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { objectOf } from '../description.ts'
import { nothing, type Operation, withBody } from '../operation.ts'
import { type OwnCredentials, shownCredential } from './credentials.ts'
import type { Enrolments, Failure } from './enrolments.ts'

const path = '/credentials'
const time = { type: 'integer', description: 'Milliseconds since 1970.' }
const label = { type: 'string', maxLength: 255 }
const ticket = { type: 'string', minLength: 1, maxLength: 4096 }
const shownTicket = { ticket: { type: 'string' }, expiresAt: time }

const credential = objectOf(
  {
    id: { type: 'string', format: 'uuid' },
    type: { type: 'string' },
    userLabel: { type: ['string', 'null'] },
    createdDate: time,
    codesLeft: { type: 'integer', description: 'Of recovery codes.' },
  },
  ['id', 'type', 'userLabel', 'createdDate'],
)

const totpBody = objectOf(
  { ticket, code: { type: 'string', minLength: 1, maxLength: 32 }, label },
  ['ticket', 'code'],
)
const passkeyBody = objectOf(
  {
    response: { type: 'object', description: 'A RegistrationResponseJSON (WebAuthn §5.1).' },
    label,
  },
  ['response'],
)
const codesBody = objectOf({ ticket })
const noBody = objectOf({})

/** Throws where nothing came of it; `field` is the proof. */
const made = (result: CredentialRow | Failure, field: string) => {
  if (result === 'expired')
    throw new Problem('gone', 'the ticket has expired or belongs to another user: start again')
  if (result === 'wrong')
    throw invalid([{ field, code: 'wrong', message: 'does not prove it: try again' }])
  return shownCredential(result)
}

const begins = (name: string, summary: string, reply: JsonSchema) =>
  ({
    method: 'POST',
    operationId: `begin-own-${name}`,
    path: `${path}/${name}`,
    summary,
    replies: { 200: reply },
    refusals: [400, 401, 403, 404],
  }) as const

const confirms = (name: string, summary: string) =>
  ({
    method: 'POST',
    operationId: `confirm-own-${name}`,
    path: `${path}/${name}/confirm`,
    summary,
    replies: { 201: credential },
    refusals: [400, 401, 403, 404, 409, 410],
    events: ['UPDATE_CREDENTIAL'],
  }) as const

export const credentialOperations = (
  credentials: OwnCredentials,
  { otp, passkey, recoveryCodes }: Enrolments,
): Operation[] => {
  return [
    {
      method: 'GET',
      path,
      operationId: 'list-own-credentials',
      summary: 'The credentials of the user, without secrets',
      replies: { 200: { type: 'array', items: credential } },
      refusals: [401, 403, 404],
      handle: async (self) => (await credentials.of(self)).map(shownCredential),
    },
    {
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'remove-own-credential',
      summary: 'Takes a factor away; takes a recent sign-in with a second factor',
      replies: { 204: nothing },
      refusals: [401, 403, 404, 409],
      events: ['REMOVE_CREDENTIAL'],
      handle: (self, { params }) => credentials.remove(self, params.id),
    },
    withBody(noBody, {
      ...begins(
        'totp',
        'A secret for an authenticator app, which counts once a code has confirmed it',
        objectOf({
          ...shownTicket,
          secret: { type: 'string', description: 'Base32.' },
          otpauthUri: { type: 'string' },
          algorithm: { type: 'string' },
          digits: { type: 'integer' },
          period: { type: 'integer' },
        }),
      ),
      handle: otp.begin,
    }),
    withBody<{ ticket: string; code: string; label?: string }>(totpBody, {
      ...confirms('totp', 'Adds the authenticator app, by a code of it'),
      handle: async (self, { label: name = '', ...rest }) =>
        made(await otp.finish(self, { ...rest, label: name }), '/code'),
    }),
    withBody(noBody, {
      ...begins('webauthn', 'Options for making a passkey (WebAuthn §5.4)', {
        type: 'object',
        additionalProperties: true,
      }),
      handle: passkey.begin,
    }),
    withBody<{ response: object; label?: string }>(passkeyBody, {
      ...confirms('webauthn', 'Adds the passkey that was made'),
      handle: async (self, { response, label: name = '' }) => {
        const answer = { response: JSON.stringify(response), label: name }
        return made(await passkey.finish(self, answer), '/response')
      },
    }),
    withBody(noBody, {
      ...begins(
        'recovery-codes',
        'New recovery codes, shown this once; they count once they are confirmed',
        objectOf({ ...shownTicket, codes: { type: 'array', items: { type: 'string' } } }),
      ),
      handle: recoveryCodes.begin,
    }),
    withBody<{ ticket: string }>(codesBody, {
      ...confirms('recovery-codes', 'Puts the new recovery codes in the place of earlier ones'),
      handle: async (self, body) => made(await recoveryCodes.finish(self, body.ticket), '/ticket'),
    }),
  ]
}
