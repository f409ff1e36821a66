/** Message templates that no message uses: the server sends those that every realm is born with, each over its channels. */

import {
  MessageTemplate,
  type MessageTemplateDoc,
} from '#schemas/kinds/notifications/message-template.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { nearest } from '#schemas/text/typos.ts'
import { didYouMean } from '../../finding.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

const sent: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [
    ...Map.groupBy(
      seeds.flatMap(({ kind, doc }) =>
        kind === MessageTemplate
          ? [doc as Pick<MessageTemplateDoc, 'templateKey' | 'channel'>]
          : [],
      ),
      ({ templateKey }) => templateKey,
    ),
  ].map(([key, templates]) => [key, new Set<string>(templates.map(({ channel }) => channel))]),
)

export const unsentTemplates: WeakChoice = weakChoice<MessageTemplateDoc>(
  MessageTemplate,
  'unsent-template',
  'a message template that no message uses',
  ({ templateKey, channel }) => {
    const channels = sent.get(templateKey)
    if (channels?.has(channel)) return []
    return [
      channels
        ? {
            field: '/channel',
            message: `no message uses it: "${templateKey}" is sent by ${[...channels].join(' and ')}`,
          }
        : {
            field: '/templateKey',
            message: 'no message uses it: the server sends none of that key',
            ...didYouMean(nearest(templateKey, sent.keys())),
          },
    ]
  },
)
