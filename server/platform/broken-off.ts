/** A body whose client has disconnected before its end: nothing for an operator to investigate. */

/** The error that Node.js ends the stream of such a request with; those of outgoing connections have other words. */
export const isBrokenOff = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ECONNRESET' &&
  error.message === 'aborted'
