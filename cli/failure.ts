/** The one place that maps an error to message, hint and exit code. */

import { CommanderError } from 'commander'
import { own } from '#schemas/own.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { ProblemError, UnreachableError, UnreachableReason } from './client/http/errors.ts'
import type { Diagnostic } from './diagnostics.ts'
import { CommandError, type ExitCode, exitCodes } from './exit.ts'

export interface Failure {
  readonly exitCode: ExitCode
  /** Stable: scripts may ask for it. */
  readonly code: string
  readonly message: string
  readonly hint: string | null
  /** Of a problem that the server told: the HTTP status, the fields, and what else it said. */
  readonly status: number | null
  readonly requestId: string | null
  readonly errors: readonly FieldError[]
  readonly details: Readonly<Record<string, unknown>>
  readonly diagnostics: readonly Diagnostic[]
  /** Unexpected: the stack trace is shown. */
  readonly isBug: boolean
}

const plain = {
  hint: null,
  status: null,
  requestId: null,
  errors: [],
  details: {},
  diagnostics: [],
  isBug: false,
} as const

/** Errors of the server whose message is meant for the operator. */
const foreseen = new Set([
  'ConfigError',
  'MasterKeyError',
  'SealError',
  'StorageUnavailableError',
  'ListenError',
  'WorkerError',
  'BackupError',
])

const fileHint = 'check the path, and that you may read or write there'

/** A file or folder that cannot be used: the system's own words name it. */
const isAboutFile = (error: Error): boolean => 'syscall' in error && 'path' in error

const exitCodeOf = ({ status, code }: ProblemError): ExitCode => {
  if (status === 401 || status === 403) return exitCodes.denied
  if (['protected', 'built-in', 'key-active', 'key-in-use', 'removals'].includes(code))
    return exitCodes.guarded
  if (status === 409 || status === 412) return exitCodes.conflict
  return status === 503 ? exitCodes.unreachable : exitCodes.error
}

/** What to do next, for every problem that the server can tell. */
const problemHints: Readonly<Record<string, string>> = {
  removals:
    'see them with --dry-run --allow-removals N; if they are right, run it with --allow-removals N',
  validation: 'correct the named fields; `iamctl explain KIND.field` explains a field',
  'bad-request': 'this is one for the log of the server; `iamctl doctor` compares the versions',
  unauthenticated: 'sign in: `iamctl login`, or set IAMCTL_USERNAME and IAMCTL_PASSWORD',
  csrf: 'sign in again: `iamctl login`',
  forbidden: '`iamctl whoami` shows what you may do',
  'step-up': 'sign in again with a stronger factor, then repeat it',
  'not-found':
    'check the name and --realm (IAMCTL_REALM); `iamctl get realms` and `iamctl get KIND` list what there is',
  'method-not-allowed': 'the server may be of another version: `iamctl doctor`',
  conflict: 'check the current documents with `iamctl get`, then try again',
  gone: 'it has expired; start again',
  'in-use': 'change what refers to it first, or delete that too',
  stale: 'plan again: the realm has changed since',
  owned: 'one of the two must give it up; --take-over makes it yours',
  protected: 'apply it once with `protected: false`, then delete it',
  'built-in': 'every realm has it: change it instead',
  'key-active': 'another one must sign first: `iamctl keys rotate`, with --fresh if it is urgent',
  'key-in-use': 'wait, or give --force if those tokens shall become invalid now',
  'precondition-failed': 'the document was changed concurrently; check it, then repeat the command',
  'too-large': 'send less at a time, or raise --changeset-limit of the server',
  'unsupported-media-type': 'the server may be of another version: `iamctl doctor`',
  'rate-limited': 'wait a moment, then try again',
  internal: 'the log of the server has the story; `iamctl doctor` looks at its health',
  unavailable: 'try again in a moment; see the log of the server',
}

const ofProblem = (error: ProblemError): Failure => ({
  ...plain,
  exitCode: exitCodeOf(error),
  code: error.code,
  message: error.detail,
  hint: own(problemHints, error.code) ?? null,
  status: error.status,
  requestId: error.requestId ?? null,
  errors: error.errors,
  details: error.extra,
  diagnostics: error.diagnostics,
})

const unreachableHints: Readonly<Record<UnreachableReason, string>> = {
  refused: 'start a server with `iamctl server`, or name another one with --server (IAMCTL_SERVER)',
  'unknown-host': 'check the name in --server (IAMCTL_SERVER), and how this machine resolves names',
  'no-route': 'check the address, the network and the firewalls on the way',
  timeout: 'try again, or give it longer with --timeout SECONDS',
  closed: 'try again; if the error persists, check whether --server must begin with https://',
  tls: 'if the certificate is of an authority of your own: NODE_EXTRA_CA_CERTS=ca.pem, or NODE_USE_SYSTEM_CA=1 for those of this machine',
  proxy: 'check HTTPS_PROXY, its user and password, and NO_PROXY',
  stranger: '--server (IAMCTL_SERVER) must be the address of an iamctl server',
}

/** What a sentence of OpenSSL means for the operator. */
const tlsHints: readonly (readonly [RegExp, string])[] = [
  [/wrong version number/i, 'the server may use plain http: write http:// in --server'],
  [/not in the cert/, 'write a name that the certificate has in --server (IAMCTL_SERVER)'],
  [/expired/, 'the server needs a new certificate, if the clock of this machine is right'],
  [/not yet valid/, 'check the clock of this machine'],
]

/** Whose hints are right wherever the address comes from. */
const anywhere: ReadonlySet<UnreachableReason> = new Set(['no-route', 'timeout', 'tls', 'proxy'])

const hintOf = ({ reason, message, hint }: UnreachableError): string => {
  if (hint !== undefined) return anywhere.has(reason) ? unreachableHints[reason] : hint
  const ofTls = tlsHints.find(([words]) => reason === 'tls' && words.test(message))
  return ofTls?.[1] ?? unreachableHints[reason]
}

const ofUnreachable = (error: UnreachableError): Failure => ({
  ...plain,
  exitCode: exitCodes.unreachable,
  code: `unreachable.${error.reason}`,
  message: error.message,
  hint: hintOf(error),
})

/**
 * The parser's words, which may be several lines, as one. A word too many of a command that is about passwords, or the
 * value of an option that does not exist, may be a password and is not repeated.
 */
const ofUsage = ({ message }: CommanderError): Failure => {
  const words = message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/(unknown option '-[^'=]*)=.*'/, "$1'")
    // The hint says more than the most similar word.
    .replace(/^(unknown (?:command|option) '[^']*') \(Did you mean .*\)$/, '$1')
    .replace(/(for '(?:login|set-password)'.* but got \d+): .*/, '$1.')
    .trim()
  return { ...plain, exitCode: exitCodes.error, code: 'usage', message: `${words} (see --help)` }
}

/** By name: their file brings the HTTP client with it, which a command that is offline does without. */
const isNamed = <T extends Error>(error: Error, name: string): error is T => error.name === name

export const failureOf = (error: unknown): Failure => {
  const bug = { ...plain, exitCode: exitCodes.error, code: 'internal', isBug: true }
  if (!(error instanceof Error)) return { ...bug, message: String(error) }
  const { message } = error
  if (error instanceof CommandError) {
    const { exitCode, hint, diagnostics } = error
    const code = diagnostics.length > 0 ? 'invalid' : 'command'
    return { ...plain, exitCode, code, message, hint: hint ?? null, diagnostics }
  }
  if (error instanceof CommanderError) return ofUsage(error)
  if (isNamed<ProblemError>(error, 'ProblemError')) return ofProblem(error)
  if (isNamed<UnreachableError>(error, 'UnreachableError')) return ofUnreachable(error)
  if (isAboutFile(error))
    return { ...plain, exitCode: exitCodes.error, code: 'command', message, hint: fileHint }
  if (foreseen.has(error.name))
    return { ...plain, exitCode: exitCodes.error, code: 'command', message }
  return { ...bug, message }
}
