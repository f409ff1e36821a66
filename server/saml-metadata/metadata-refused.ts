/** The one error of received metadata: the element that was refused, and what to do. */

import { XmlRefused } from '#server/xml/index.ts'

export class MetadataRefused extends Error {
  override readonly name = 'MetadataRefused'
  /** The path of the element or attribute, as XPath writes it; `/` for the document. */
  readonly place: string
  readonly code: string
  constructor(place: string, code: string, message: string) {
    super(message)
    this.place = place
    this.code = code
  }
}

/** Ends the reading of a document. */
export const refuseAt = (place: string, code: string, message: string): never => {
  throw new MetadataRefused(place, code, message)
}

/** What the gate refuses is refused of the document as a whole. */
export const asMetadataRefused = (error: unknown): unknown =>
  error instanceof XmlRefused ? new MetadataRefused('/', error.refusal, error.message) : error
