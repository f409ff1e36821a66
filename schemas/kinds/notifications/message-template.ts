import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, name, oneOf, realmId, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  realmId: realmId(),
  templateKey: name({ format: 'segment' }),
  channel: oneOf(['EMAIL', 'SMS', 'PUSH']),
  locale: Type.String({ default: 'en', pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
  subject: text('Subject line, or title.', { format: 'line', maxLength: 500 }),
  body: Type.String({ minLength: 1, maxLength: 100_000, description: 'With {{placeholders}}.' }),
  enabled: flag(true, 'Whether it is used.'),
  html: flag(false, 'Whether the body is HTML; values are escaped then.'),
})

export type MessageTemplateDoc = Static<typeof spec>

export const MessageTemplate = defineKind({
  kind: 'message-template',
  shape: 'upsert',
  section: 'messageTemplates',
  path: '/messaging/templates',
  pathKey: 'id',
  key: ['templateKey', 'channel', 'locale'],
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'allowed',
  doc: 'The text of a message to a user, by key, channel and language.',
  spec,
})
