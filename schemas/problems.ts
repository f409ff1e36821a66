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
  removals: { status: 409, title: 'Too many users would be removed' },
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

/**
 * A reply must not grow with what was sent to provoke it: names are the caller's and may be as long as the body, and there
 * may be as many errors as the body has fields (CWE-405).
 */
const mostTold = 50
const mostOfAny = 1000
const longestField = 300
const longestMessage = 1000
const longestDetail = 4000

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text

const shortened = ({ field, code, message }: FieldError): FieldError => ({
  field: cut(field, longestField),
  code,
  message: cut(message, longestMessage),
})

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
    super(
      cut(detail, longestDetail),
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.errors = (options.errors ?? []).slice(0, mostOfAny).map(shortened)
    this.extra = options.extra ?? {}
  }
  get status(): number {
    return problems[this.code].status
  }
}

/** The first few of many, for a sentence. */
export const summaryOf = (errors: readonly FieldError[]): string =>
  errors
    .slice(0, 3)
    .map(({ field, message }) => `${field}: ${message}`)
    .join('; ') + (errors.length > 3 ? `; and ${errors.length - 3} more` : '')

/** A 400 that names its fields: so many of them as a person reads, and how many there are. */
export const invalid = (errors: readonly FieldError[]): Problem => {
  const told = errors.slice(0, mostTold).map(shortened)
  return new Problem('validation', summaryOf(told.concat(errors.slice(mostTold))), {
    errors: told,
    ...(told.length < errors.length ? { extra: { errorCount: errors.length } } : {}),
  })
}
