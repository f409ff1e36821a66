/**
 * A document for a service provider from the bytes of its metadata, without a server: what `iamctl import saml-metadata`
 * writes is what the admin API would make.
 */

import type { MetadataQuestion } from '#server/saml-metadata/entities.ts'
import { asMetadataRefused, MetadataRefused } from '#server/saml-metadata/metadata-refused.ts'
import { METADATA_LIMIT, readBytes } from '#server/xml/index.ts'
import { type ImportedFields, importedFields } from './metadata-fields.ts'
import { readSpMetadata } from './sp-metadata.ts'

export type SpDocument =
  | { readonly fields: ImportedFields }
  | { readonly refused: Pick<MetadataRefused, 'place' | 'message'> }

export const spDocument = (received: Buffer, question: MetadataQuestion): SpDocument => {
  try {
    const text = readBytes(received, METADATA_LIMIT)
    return { fields: importedFields(readSpMetadata(text, question)) }
  } catch (cause) {
    const error = asMetadataRefused(cause)
    if (error instanceof MetadataRefused) return { refused: error }
    throw error
  }
}
