/**
 * The problems that the admin API answers and the CLI understands (RFC 9457): one line each, stable codes.
 * `errors[].field` is a JSON pointer into the body, so that the CLI can point at a line of YAML.
 */

export const problems = {
  validation: { status: 400, title: 'The request is not valid' },
  'bad-request': { status: 400, title: 'The request cannot be read' },
  unauthenticated: { status: 401, title: 'Sign in first' },
  csrf: { status: 403, title: 'The CSRF token is missing or stale' },
  'step-up': { status: 403, title: 'Sign in again, more strongly or more recently' },
  forbidden: { status: 403, title: 'A permission is missing' },
  'not-found': { status: 404, title: 'There is no such thing' },
  'method-not-allowed': { status: 405, title: 'This method is not for this path' },
  conflict: { status: 409, title: 'It is taken or has moved' },
  'in-use': { status: 409, title: 'Something still refers to it' },
  stale: { status: 409, title: 'The realm has moved on' },
  owned: { status: 409, title: 'It belongs to another source' },
  protected: { status: 409, title: 'It is protected against deletion' },
  'built-in': { status: 409, title: 'It is built in and stays' },
  'key-active': { status: 409, title: 'The key is in use' },
  'key-in-use': { status: 409, title: 'Tokens signed by the key may still be valid' },
  gone: { status: 410, title: 'It came too late' },
  'precondition-failed': { status: 412, title: 'It has changed since you read it' },
  'too-large': { status: 413, title: 'The request is too large' },
  'unsupported-media-type': { status: 415, title: 'The media type is not supported' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'The server failed' },
  unavailable: { status: 503, title: 'The server cannot do this now' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof problems

export interface FieldError {
  /** JSON pointer into the request body, or the name of a parameter. */
  readonly field: string
  readonly code: string
  readonly message: string
}

/** Ends a request: `message` is what the caller reads, `cause` only the log. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly errors: readonly FieldError[]
  readonly extra: Readonly<Record<string, unknown>>
  constructor(
    code: ProblemCode,
    detail: string,
    options: {
      errors?: readonly FieldError[]
      extra?: Record<string, unknown>
      cause?: unknown
    } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.errors = options.errors ?? []
    this.extra = options.extra ?? {}
  }
  get status(): number {
    return problems[this.code].status
  }
}

/** A 400 that names its fields. */
export const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem('validation', errors.map((error) => `${error.field}: ${error.message}`).join('; '), {
    errors,
  })
