/** POST …/messaging/templates/preview: a message as it would be sent, with values to try. */

import { type Channel, channels } from '#schemas/drivers/messaging.ts'
import { MessageTemplate } from '#schemas/kinds/notifications/message-template.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { isPlaceholder } from '#schemas/text/placeholders.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'

export interface MessagingPreviewParts {
  readonly messaging: Messaging
}

interface PreviewBody {
  readonly templateKey: string
  readonly channel?: Channel
  readonly locale?: string
  readonly sample?: Readonly<Record<string, string>>
}

export const previewMessage = ({ messaging }: MessagingPreviewParts): Action => ({
  operationId: 'preview-message-template',
  method: 'POST',
  path: '/messaging/templates/preview',
  permission: 'manage-realm',
  resourceType: MessageTemplate.resourceType,
  events: [],
  planning: true,
  summary: 'Renders a message; placeholders without a sample stay as they are written',
  body: bodyOf(
    {
      templateKey: { type: 'string', minLength: 1, maxLength: 255 },
      channel: { type: 'string', enum: [...channels] },
      locale: { type: 'string', maxLength: 35 },
      sample: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 4000 },
        description: 'Texts by the names of placeholders.',
      },
    },
    ['templateKey'],
  ),
  reply: {
    status: 200,
    schema: bodyOf({ subject: { type: ['string', 'null'] }, body: { type: 'string' } }),
  },
  handle: async ({ view, body }) => {
    const { templateKey, channel, locale, sample = {} } = asChecked<PreviewBody>(body)
    const strange = Object.keys(sample).filter((name) => !isPlaceholder(name))
    if (strange.length > 0)
      throw invalid(
        strange.map((name) => ({
          field: '/sample',
          code: 'unknown-placeholder',
          message: `there is no placeholder {{${name.slice(0, 40)}}}`,
        })),
      )
    const rendered = await messaging.preview({ view, templateKey, channel, locale, sample })
    if (!rendered) throw new Problem('not-found', `there is no template "${templateKey}"`)
    return { subject: rendered.subject || null, body: rendered.html ?? rendered.text }
  },
})
