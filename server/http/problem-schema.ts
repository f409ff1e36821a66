/** Problem documents (RFC 9457) in the API description. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { problems } from '#schemas/problems.ts'

export const problemSchema: JsonSchema = {
  title: 'problem',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri-reference' },
    code: { type: 'string', enum: Object.keys(problems) },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'JSON pointer into the body, or a parameter.' },
          code: { type: 'string' },
          message: { type: 'string' },
        },
        required: ['field', 'code', 'message'],
        additionalProperties: false,
      },
    },
    errorCount: {
      type: 'integer',
      description:
        'How many errors there are, where `errors` names the first of them; 1,000 at most are counted.',
    },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  // Some problems carry more, such as the seconds after which to try again.
  additionalProperties: true,
}

export const problemReply = (description: string): object => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
})
