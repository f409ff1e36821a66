/** Message templates: known placeholders only, and markup only in HTML. */

import {
  MessageTemplate,
  type MessageTemplateDoc,
} from '../../kinds/notifications/message-template.ts'
import { placeholderErrors } from '../../text/placeholders.ts'
import { ruleFor } from '../rule.ts'

export const messageTemplate = ruleFor<MessageTemplateDoc>(
  MessageTemplate,
  ({ channel, subject, body, html }) => [
    ...placeholderErrors('/subject', subject ?? ''),
    ...placeholderErrors('/body', body),
    ...(html && channel !== 'EMAIL'
      ? [{ field: '/html', code: 'exclusive', message: 'is for EMAIL: others show no markup' }]
      : []),
  ],
)
