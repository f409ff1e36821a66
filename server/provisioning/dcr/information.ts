/** The client information response (RFC 7591 §3.2.1, RFC 7592 §3). */

import type { FastifyReply } from 'fastify'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Written } from './client-documents.ts'
import { type Metadata, metadataOf } from './metadata.ts'

export const registerPath = '/connect/register'

export interface Information extends Written {
  readonly issuer: Issuer
  /** What is stored beside the document. */
  readonly described: Metadata
  readonly registeredAt: number
  /** The registration access token. */
  readonly token: string
}

/** The secret is in it once, when it is made: only its hash is stored. */
const informationOf = ({ issuer, document, secret, ...more }: Information) => ({
  client_id: document.key,
  client_id_issued_at: Math.floor(more.registeredAt / 1000),
  ...(secret === undefined ? {} : { client_secret: secret }),
  ...('/secret' in document.secrets ? { client_secret_expires_at: 0 } : {}),
  registration_access_token: more.token,
  registration_client_uri: `${issuer.url}${registerPath}/${document.id}`,
  ...metadataOf(contentOf<ClientDoc>(document), more.described),
})

export const sendInformation = (
  reply: FastifyReply,
  status: 200 | 201,
  information: Information,
): FastifyReply =>
  reply
    .code(status)
    .headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
    .send(informationOf(information))
