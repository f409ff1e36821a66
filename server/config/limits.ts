/** Section `limits`: bounds on size and time of requests, also against clients that send slowly on purpose. */

import Type from 'typebox'
import { defineSection } from './section.ts'

const bytes = (value: number, maximum: number, description: string) =>
  Type.Integer({ default: value, minimum: 1024, maximum, description: `${description}, in bytes.` })

const seconds = (value: number, description: string) =>
  Type.Integer({
    default: value,
    minimum: 1,
    maximum: 3600,
    description: `${description}, in seconds.`,
  })

export const limits = defineSection({
  doc: 'How much of the server one caller can take.',
  options: {
    bodyLimit: bytes(1024 * 1024, 1024 * 1024 * 1024, 'Largest body'),
    changesetLimit: bytes(
      256 * 1024 * 1024,
      8 * 1024 * 1024 * 1024,
      'Largest changeset or import of a realm; each of its documents is held to the largest body',
    ),
    headerLimit: bytes(16 * 1024, 1024 * 1024, 'Largest request line and headers together'),
    urlLimit: bytes(8 * 1024, 1024 * 1024, 'Longest path and query'),
    headersTimeout: seconds(15, 'Time in which the headers must have arrived'),
    requestTimeout: seconds(
      60,
      'Time in which the whole request must have arrived, and for which a client may read nothing of the response',
    ),
    keepAliveTimeout: seconds(65, 'Time an idle connection stays open; more than that of a proxy'),
    shutdownDelay: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 3600,
      description:
        'Time in which a server that stops still takes requests while readiness says OUT_OF_SERVICE, in seconds; for balancers that must notice first.',
    }),
    shutdownTimeout: seconds(20, 'Time limit for requests in progress when the server stops'),
  },
  check: ({ headersTimeout, requestTimeout }) =>
    headersTimeout <= requestTimeout
      ? undefined
      : { option: 'headersTimeout', message: 'must not be longer than the request timeout' },
})
