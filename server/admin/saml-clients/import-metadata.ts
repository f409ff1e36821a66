/**
 * POST …/saml-clients/import and …/import-url: a service provider from its metadata, through the one write path. A service
 * provider that is there already is changed only on request (`update`), and only in what the metadata states.
 */

import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Doc } from '#schemas/json-schema.ts'
import { SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { readView } from '#schemas/views.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { spool } from '#server/platform/spool.ts'
import type { Presenter } from '#server/realm/crud/present.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import {
  type ImportedFields,
  importedFields,
  mergedFields,
} from '#server/saml/metadata/metadata-fields.ts'
import { readSpMetadata } from '#server/saml/metadata/sp-metadata.ts'
import { createFetchMetadata } from '#server/saml-metadata/fetch-metadata.ts'
import { metadataKeys } from '#server/saml-metadata/metadata-keys.ts'
import { MetadataRefused } from '#server/saml-metadata/metadata-refused.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { METADATA_LIMIT, readBytes, XmlRefused } from '#server/xml/index.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'

export interface ImportMetadataParts {
  readonly writer: Writer
  readonly presenter: Presenter
  readonly copy: Copy
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
}

/** What metadata says, verified for the service provider that it would change. */
interface Imported {
  readonly existing: StoredDocument | undefined
  readonly certificate: string | undefined
  readonly fields: ImportedFields
}

const mediaTypes = ['application/samlmetadata+xml', 'application/xml', 'text/xml'] as const

const entityId = {
  type: 'string',
  minLength: 1,
  maxLength: 1024,
  description: 'Which one, if the metadata describes several service providers.',
} as const

const update = {
  type: 'boolean',
  default: false,
  description: 'Changes a service provider that exists; without it that is a conflict.',
} as const

const shown = { ...readView(SamlClient), title: SamlClient.kind }

const common = {
  method: 'POST',
  permission: 'manage-clients',
  resourceType: SamlClient.resourceType,
  events: ['ADMIN_CREATE', 'ADMIN_UPDATE'],
  reply: { status: 201, schema: shown },
  otherReply: { status: 200, schema: shown },
} as const

/** Problems name the element of the metadata. */
const refused = (error: unknown): unknown => {
  if (error instanceof MetadataRefused)
    return invalid([{ field: error.place, code: error.code, message: error.message }])
  if (error instanceof XmlRefused)
    return invalid([{ field: '/', code: error.refusal, message: error.message }])
  return error
}

const documentIn = async ({ request }: ActionContext): Promise<string> => {
  if (!(request.body instanceof Readable)) throw new Problem('bad-request', 'The body is empty.')
  const body = await spool(request.body, { limit: METADATA_LIMIT })
  try {
    return readBytes(await buffer(body.chunks()), METADATA_LIMIT)
  } finally {
    await body.close()
  }
}

export const importMetadataActions = (parts: ImportMetadataParts): Action[] => {
  const { writer, presenter, copy, clock } = parts
  const fetchMetadata = createFetchMetadata(parts.outgoing)

  /** The certificate of a service provider that is there holds for every way that its metadata comes. */
  const read = async (
    { view, query }: ActionContext,
    received: string,
    wanted: string | undefined,
  ): Promise<Imported> => {
    const now = clock.now()
    const metadata = readSpMetadata(received, { now, entityId: wanted })
    const { entityId: key } = metadata
    const existing = await view.get(SamlClient.kind, key)
    if (existing && query['update'] !== true)
      throw new Problem(
        'conflict',
        `there is a service provider "${key}" already; change it with ?update=true`,
      )
    const certificate = existing && contentOf<SamlClientDoc>(existing).metadataCertificate
    const keys = metadataKeys(certificate)
    // What the signature covers, and nothing else of the document.
    const trusted = keys ? readSpMetadata(received, { now, entityId: key, keys }) : metadata
    return { existing, certificate, fields: importedFields(trusted) }
  }

  const write = async (
    { realm, caller, reply, request }: ActionContext,
    { existing, certificate, fields }: Imported,
    moreOf: (before: Doc) => Doc,
  ): Promise<unknown> => {
    const { entityId: key } = fields
    const { effects } = await writer.write({
      realm,
      caller,
      channel: restChannel,
      operations: [
        {
          op: 'put',
          kind: SamlClient,
          key,
          ...(existing ? { id: existing.id } : {}),
          doc: (before) => {
            // Another one may have been written since the signature was verified.
            if (existing && before['metadataCertificate'] !== certificate)
              throw new Problem('conflict', 'metadataCertificate has changed; try again')
            return { ...mergedFields(before, fields), ...moreOf(before) }
          },
          secrets: {},
          expect: { exists: existing !== undefined },
        },
      ],
    })
    const effect = effects.find(({ after }) => after?.key === key)
    const document = effect?.after ?? existing
    const after = await copy.known(realm)
    if (!document || !after) throw new Problem('not-found', `there is no service provider "${key}"`)
    if (existing) reply.code(200)
    else
      reply.header(
        'location',
        `${request.url.replace(/\/import(-url)?(\?.*)?$/, '')}/${encodeURIComponent(key)}`,
      )
    return { ...(await presenter.one(SamlClient, document, after)), ...effect?.prepared.answer }
  }

  const taken = async (work: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await work()
    } catch (error) {
      throw refused(error)
    }
  }

  return [
    {
      ...common,
      operationId: 'import-saml-client',
      path: '/saml-clients/import',
      summary: 'A service provider from its SAML metadata',
      query: bodyOf({ entityId, update }, []),
      body: { type: 'string', description: 'An EntityDescriptor or an EntitiesDescriptor.' },
      bodyLimit: METADATA_LIMIT,
      streams: mediaTypes,
      handle: (context) =>
        taken(async () => {
          const { entityId: wanted } = asChecked<{ entityId?: string }>(context.query)
          return write(context, await read(context, await documentIn(context), wanted), () => ({}))
        }),
    },
    {
      ...common,
      operationId: 'import-saml-client-url',
      path: '/saml-clients/import-url',
      summary: 'A service provider from the metadata at an address, which is read again daily',
      query: bodyOf({ update }, []),
      body: bodyOf(
        {
          url: {
            type: 'string',
            format: 'saml-endpoint',
            maxLength: 2000,
            description: 'Where the service provider publishes its metadata.',
          },
          entityId,
        },
        ['url'],
      ),
      handle: (context) =>
        taken(async () => {
          const { url, entityId: wanted } = asChecked<{ url: string; entityId?: string }>(
            context.body,
          )
          const received = await fetchMetadata(url)
          return write(context, await read(context, received, wanted), (before) => ({
            metadataUrl: url,
            metadataRefresh: before['metadataRefresh'] ?? '1d',
          }))
        }),
    },
  ]
}
