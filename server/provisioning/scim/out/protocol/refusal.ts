/** Why a target refused a request. */

export class ScimRefusal extends Error {
  override readonly name = 'ScimRefusal'
  /** Null where there was no answer. */
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(message: string, status: number | null, retryAfterMs: number | null = null) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }

  /** No request would fare better: there is no answer, no access, another address, or too much was asked (RFC 6585 §4). */
  get isOfTarget(): boolean {
    if (this.status === null || (this.status >= 300 && this.status < 400)) return true
    return [401, 429, 503].includes(this.status)
  }

  /** The target failed, which may be a matter of this resource alone. */
  get isFault(): boolean {
    return this.status !== null && (this.status === 403 || this.status >= 500)
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof ScimRefusal && error.status === 404

/** The target works, and refuses what this request says. */
const isOfRequest = (error: unknown): error is ScimRefusal =>
  error instanceof ScimRefusal && !error.isOfTarget && !error.isFault

/** The refusal of the request itself, if there is one; other failures are thrown. */
export const refusalOf = async (
  request: () => Promise<unknown>,
): Promise<ScimRefusal | undefined> => {
  try {
    await request()
    return undefined
  } catch (error) {
    if (isOfRequest(error)) return error
    throw error
  }
}

/** Something unique is taken (RFC 7644 §3.3). */
export const isConflict = (error: unknown): boolean =>
  error instanceof ScimRefusal && error.status === 409

/** Nothing was sent: the target has no secret to send it with. */
export class SecretMissing extends ScimRefusal {
  constructor(what: string) {
    super(`the target has no ${what}: set it with \`iamctl apply\``, null)
  }
}
