/** Why an outgoing request was not made, or failed. */

export type OutgoingErrorCode =
  | 'outgoing.url'
  | 'outgoing.scheme'
  | 'outgoing.address'
  | 'outgoing.timeout'
  | 'outgoing.size'
  | 'outgoing.network'

/**
 * The message names the host and the reason and may be shown to the user who gave the URL: it contains no
 * path, query, credential, header or body, and not the resolved address. For the same
 * reason there is no `cause`; the errors underneath carry pieces of the response.
 */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError'
  readonly code: OutgoingErrorCode

  constructor(code: OutgoingErrorCode, host: string, reason: string) {
    super(host === '' ? reason : `${host}: ${reason}`)
    this.code = code
  }
}
