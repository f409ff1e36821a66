/** Errors of the server and of the connection. cli/failure.ts maps them to hints and exit codes. */

import { type FieldError, problems } from '#schemas/problems.ts'
import type { Diagnostic } from '../../diagnostics.ts'

export interface ProblemDetails {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly errors: readonly FieldError[]
  /** Members beyond those of every problem, such as `moved` of a stale changeset. */
  readonly extra: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
  /** The errors, where they were found in files. */
  readonly diagnostics?: readonly Diagnostic[]
}

/** The server understood and refused: a problem document (RFC 9457). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
  readonly diagnostics: readonly Diagnostic[]
  constructor(details: ProblemDetails, options: { readonly cause?: unknown } = {}) {
    const { status, code, detail, errors, extra, requestId, diagnostics = [] } = details
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.code = code
    this.detail = detail
    this.errors = errors
    this.extra = extra
    this.requestId = requestId
    this.diagnostics = diagnostics
  }
}

export type UnreachableReason =
  | 'refused'
  | 'unknown-host'
  | 'no-route'
  | 'tls'
  /** The proxy of this machine refuses the connection. */
  | 'proxy'
  | 'timeout'
  | 'closed'
  /** Something answered that is not an iamctl server, or a proxy whose server is away. */
  | 'stranger'

/** No answer of an iamctl server came. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly reason: UnreachableReason
  readonly server: string
  /** Of an address that is not the one of --server. */
  readonly hint: string | undefined
  constructor(
    server: string,
    reason: UnreachableReason,
    message: string,
    cause?: unknown,
    hint?: string,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.server = server
    this.reason = reason
    this.hint = hint
  }
}

/** What ends a request to an address that is not the one of --server: hints about that option would not help. */
export const withHint = (error: unknown, hint: string): unknown =>
  error instanceof UnreachableError
    ? new UnreachableError(error.server, error.reason, error.message, error.cause, hint)
    : error

/**
 * What ends a command: as it is, or, of an error that came up while an answer was worked on, that the answer cannot be used. The
 * story of such an error is its cause, which --debug shows.
 */
export const orUnusable = (server: string, error: unknown): unknown =>
  error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
    ? new UnreachableError(
        server,
        'stranger',
        `the answer of ${server} is not one of the admin API: ${error.message}`,
        error,
      )
    : error

const common: ReadonlySet<string> = new Set([
  'type',
  'title',
  'status',
  'detail',
  'instance',
  'code',
  'requestId',
  'errors',
])

const isFieldError = (value: unknown): value is FieldError =>
  typeof value === 'object' && value !== null && 'field' in value && 'message' in value

/** Reads a problem document; missing text is derived from the status. */
export const problemOf = (
  status: number,
  body: Readonly<Record<string, unknown>>,
): ProblemDetails => {
  const text = (name: string): string | undefined =>
    typeof body[name] === 'string' ? body[name] : undefined
  const code = text('code') ?? `http-${status}`
  const known = Object.entries(problems).find(([name]) => name === code)?.[1]
  const errors: unknown = body['errors']
  return {
    status,
    code,
    detail: text('detail') ?? text('title') ?? known?.title ?? `the server answered ${status}`,
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
    extra: Object.fromEntries(Object.entries(body).filter(([name]) => !common.has(name))),
    requestId: text('requestId'),
  }
}

export const isProblem = (error: unknown, status: number, code?: string): error is ProblemError =>
  error instanceof ProblemError &&
  error.status === status &&
  (code === undefined || error.code === code)
