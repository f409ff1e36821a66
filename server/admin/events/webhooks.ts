/** Deliveries of a webhook, redelivery, a new secret, and a test delivery. */

import { Webhook, type WebhookDoc } from '#schemas/kinds/notifications/webhook.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditRecord } from '#schemas/wire/events.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { doneBy } from '#server/http/caller.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken } from '#server/platform/random.ts'
import { findIn } from '#server/realm/read/find.ts'
import { editOf, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { Storage } from '#server/storage/contract.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import {
  createDeliveryList,
  type DeliveryPage,
  deliveryStatuses,
} from '#server/webhooks/delivery-list.ts'
import { webhookQueue } from '#server/webhooks/fan-out.ts'
import { payloadOf } from '#server/webhooks/payload.ts'
import { type SendDelivery, secretPointer } from '#server/webhooks/sender.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface WebhookActionParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly writer: Writer
  readonly clock: Clock
  readonly jobs: Pick<Jobs, 'wake'>
  readonly sendDelivery: SendDelivery
}

const optionalNumber = { type: ['integer', 'null'] } as const
const optionalText = { type: ['string', 'null'] } as const

const deliverySchema = bodyOf({
  id: { type: 'string', format: 'uuid', description: 'The `webhook-id` of every attempt.' },
  status: { type: 'string', enum: [...deliveryStatuses] },
  eventId: { ...optionalText, description: 'Null once the event is not kept any more.' },
  eventType: optionalText,
  attempts: { type: 'integer' },
  createdAt: { type: 'integer' },
  nextAttemptAt: optionalNumber,
  finishedAt: optionalNumber,
  lastAttemptAt: optionalNumber,
  responseStatus: { ...optionalNumber, description: 'The last status that the receiver answered.' },
  durationMs: optionalNumber,
  reason: { ...optionalText, description: 'Why the last attempt did not arrive.' },
})

const madeSecretSchema = bodyOf({
  type: { type: 'string', enum: ['secret'] },
  value: { type: 'string', description: 'Returned once.' },
  secretSet: { type: 'boolean' },
  createdAt: { type: 'integer' },
})

const common = { permission: 'manage-realm', resourceType: Webhook.resourceType } as const

/** Deliveries contain events: reading them needs view-events, as /events does. */
const refuseUnlessMayView = ({ caller }: ActionContext): void => {
  if (!caller.permissions.has('view-events'))
    throw new Problem(
      'forbidden',
      'deliveries are events: this also needs the permission view-events',
    )
}

const webhookIn = ({ view, params }: ActionContext): Promise<StoredDocument> =>
  findIn(view, Webhook, params['id'] ?? '')

export const webhookActions = (parts: WebhookActionParts): Action[] => {
  const { recorder, clock, jobs, sendDelivery } = parts
  const deliveries = createDeliveryList(parts)
  const done = (context: ActionContext, { id }: StoredDocument, detail: string) =>
    actionEvent(context, 'ADMIN_ACTION', { type: Webhook.resourceType, id }, detail)

  return [
    {
      ...common,
      operationId: 'list-webhook-deliveries',
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'Deliveries of a webhook, newest first; those that arrived for three days',
      query: bodyOf(
        {
          status: { type: 'string', enum: [...deliveryStatuses] },
          first: { type: 'integer', minimum: 0, default: 0 },
          max: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
        },
        [],
      ),
      reply: { status: 200, schema: { type: 'array', items: deliverySchema } },
      handle: async (context) => {
        const { id } = await webhookIn(context)
        refuseUnlessMayView(context)
        return deliveries.list(id, asChecked<DeliveryPage>(context.query))
      },
    },
    {
      ...common,
      operationId: 'redeliver-webhook-delivery',
      method: 'POST',
      path: '/webhooks/:id/deliveries/:deliveryId/redeliver',
      events: ['ADMIN_ACTION'],
      summary: 'Sends a delivery again, at once and under the same id',
      reply: { status: 200, schema: deliverySchema },
      handle: async (context) => {
        const webhook = await webhookIn(context)
        refuseUnlessMayView(context)
        const id = context.params['deliveryId'] ?? ''
        const find = async () => {
          const found = await deliveries.find(webhook.id, id)
          if (!found) throw new Problem('not-found', `there is no delivery "${id}"`)
          return found
        }
        await find()
        if (!contentOf<WebhookDoc>(webhook).enabled)
          throw new Problem('conflict', 'the webhook is disabled: enable it first')
        await recorder.commit(
          [deliveries.redeliver(webhook.id, id)],
          [done(context, webhook, `delivery ${id} is sent again`)],
        )
        jobs.wake(webhookQueue)
        return find()
      },
    },
    {
      ...common,
      operationId: 'regenerate-webhook-secret',
      method: 'POST',
      path: '/webhooks/:id/secret',
      events: ['ADMIN_UPDATE', 'UPDATE_CREDENTIAL'],
      summary: 'Makes a new secret, answered once; the one before signs beside it for a day',
      reply: { status: 200, schema: madeSecretSchema },
      handle: async (context) => {
        const webhook = await webhookIn(context)
        const value = randomToken(32)
        await parts.writer.write({
          realm: context.realm,
          caller: context.caller,
          channel: restChannel,
          operations: [editOf(Webhook, webhook, (before) => before, { [secretPointer]: value })],
          alongside: () => ({
            statements: [],
            events: [
              actionEvent(
                context,
                'UPDATE_CREDENTIAL',
                { type: Webhook.resourceType, id: webhook.id },
                'secret regenerated',
              ),
            ],
          }),
        })
        return { type: 'secret', value, secretSet: true, createdAt: clock.now() }
      },
    },
    {
      ...common,
      operationId: 'test-webhook',
      method: 'POST',
      path: '/webhooks/:id/test',
      events: ['ADMIN_ACTION'],
      summary: 'Sends a signed test delivery, once, and answers what came of it',
      reply: {
        status: 200,
        schema: bodyOf({
          id: { type: 'string', format: 'uuid', description: 'The `webhook-id` that was sent.' },
          delivered: { type: 'boolean' },
          responseStatus: optionalNumber,
          durationMs: { type: 'integer' },
          reason: optionalText,
        }),
      },
      handle: async (context) => {
        const webhook = await webhookIn(context)
        const { realm, caller } = context
        const id = newId()
        const record: AuditRecord = {
          id: newId(),
          ts: new Date(clock.now()).toISOString(),
          kind: 'audit',
          category: 'ADMIN',
          type: 'ADMIN_ACTION',
          realm,
          ...doneBy(caller),
          resourceType: Webhook.resourceType,
          resourceId: webhook.id,
          outcome: 'SUCCESS',
          detail: 'test delivery',
        }
        const answer = await sendDelivery(webhook, { id, body: payloadOf(id, record) })
        const { delivered, status, durationMs, reason } = answer
        const told = delivered ? `test delivery: ${status}` : `test delivery failed: ${reason}`
        await recorder.append([], [done(context, webhook, told)])
        return { id, delivered, responseStatus: status, durationMs, reason }
      },
    },
  ]
}
