/** The API description of approvals of sign-ins. */

import { pageReply } from '#server/http/pages/page-reply.ts'
import { describe, objectOf } from '../description.ts'

const what = {
  push: 'A sign-in that a device was asked about',
  qr: 'A sign-in by QR code',
} as const

export const numberBody = objectOf({
  number: {
    type: 'string',
    description: 'As the page of the sign-in shows it.',
    minLength: 1,
    maxLength: 16,
  },
})

const record = objectOf({
  id: { type: 'string' },
  status: { type: 'string', enum: ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED'] },
  createdAt: { type: 'integer' },
  expiresAt: { type: 'integer' },
  clientName: { type: ['string', 'null'] },
  ipAddress: { type: 'string' },
  numberMatch: { type: 'boolean', description: 'Whether the request needs number matching.' },
})

const refusals = [400, 401, 403, 404, 409, 410]

export const describeApproval = (kind: 'push' | 'qr') =>
  describe({
    callers: ['session'],
    operationId: `read-${kind}-approval`,
    summary: `${what[kind]}; a page for browsers, and JSON for others`,
    replies: { 200: record, 303: { description: 'To the sign-in page.', type: 'null' } },
    refusals: [401, 403, 404, 409, 410],
  })

export const describeConfirm = (kind: 'push' | 'qr') =>
  describe({
    callers: ['session'],
    operationId: kind === 'push' ? 'approve-push' : 'confirm-qr',
    summary: 'Allows the sign-in, with the number that its page shows; three wrong ones deny it',
    body: numberBody,
    replies: { 200: record },
    refusals,
    events: ['MFA_SUCCESS', 'MFA_FAILURE'],
  })

export const describeDeny = describe({
  callers: ['session'],
  operationId: 'deny-push',
  summary: 'Denies the sign-in',
  replies: { 200: record },
  refusals: [401, 403, 404, 409, 410],
  events: ['MFA_FAILURE'],
})

export const describeDecide = (kind: 'push' | 'qr') =>
  describe({
    callers: ['page'],
    operationId: `decide-${kind}`,
    summary: 'What the page of the request sends',
    form: true,
    body: {
      type: 'object',
      properties: {
        decision: { type: 'string', enum: ['allow', 'deny'] },
        number: { type: 'string' },
        _csrf: { type: 'string' },
      },
      required: ['decision', '_csrf'],
    },
    replies: {
      200: pageReply('It is allowed, or denied.'),
      303: { description: 'To the sign-in page.', type: 'null' },
      400: pageReply('The number is wrong.'),
      403: pageReply('The form is not from this session, or the browser is the one that signs in.'),
      404: pageReply('There is no such request.'),
      409: pageReply('It was answered already.'),
      410: pageReply('It has expired.'),
    },
    refusals: [],
    events: ['MFA_SUCCESS', 'MFA_FAILURE'],
  })
