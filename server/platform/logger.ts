/**
 * The log: one JSON object per line on stdout. No transport: those are loaded by file name, which a
 * bundle does not have, and operators collect stdout anyway.
 */

import { type Bindings, type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { redact } from './redaction.ts'

export type { Logger } from 'pino'

export interface LogOptions {
  /** info unless given. */
  level?: string | undefined
  /** stdout unless given. */
  destination?: DestinationStream | undefined
}

const SERIALIZED: ReadonlySet<string> = new Set(['req', 'res', 'err'])

export function createLogger({ level = 'info', destination }: LogOptions = {}): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: redactFields },
    serializers: {
      req: requestFields,
      res: responseFields,
      err: (error: unknown) => redact(error),
    },
    hooks: {
      // What is interpolated into the message (`%o`) passes no formatter.
      logMethod(parameters, method) {
        const [first, ...rest] = parameters
        const safe = rest.map((value) => redact(value)) as typeof rest
        method.apply(this, [first, ...safe])
      },
    },
  }
  const logger = pino(options, destination ?? standardOutput())
  return redactChildren(logger)
}

/**
 * Lines of level info whose fields are known to hold no secret: one pass into JSON, where an ordinary line is copied for
 * redaction first.
 */
export function plainLines(logger: Logger, msg: string): (fields: object) => void {
  const stream = logger[pino.symbols.streamSym as never] as DestinationStream
  return (fields) => {
    if (!logger.isLevelEnabled('info')) return
    const time = new Date().toISOString()
    const line = { level: 'info', time, pid: process.pid, ...fields, msg }
    stream.write(`${JSON.stringify(line)}\n`)
  }
}

/** How long a line may wait for others. */
const GATHER_MS = 5

/** Lines that come close together leave in one write, however many requests wrote them. */
function standardOutput(): DestinationStream {
  let sink: DestinationStream | undefined
  let text = ''
  const flush = (): void => {
    if (text !== '') sink?.write(text)
    text = ''
  }
  return {
    write(line) {
      if (sink === undefined) {
        sink = pino.destination({ dest: 1, sync: true })
        process.on('exit', flush)
      }
      if (text === '') setTimeout(flush, GATHER_MS)
      text += line
    },
  }
}

/** pino formats the fields of a child logger once and by no formatter of its parent. */
function redactChildren(logger: Logger): Logger {
  const child = logger.child
  // Children have their parent as prototype, so theirs go through here too.
  logger.child = function (this: Logger, bindings: Bindings, options) {
    return child.call(this, redactFields(bindings), options)
  } as typeof child
  return logger
}

function redactFields(fields: object): Record<string, unknown> {
  return redact(fields, SERIALIZED) as Record<string, unknown>
}

interface RequestLike {
  id?: unknown
  method?: string
  url?: string
  ip?: string
  socket?: { remoteAddress?: string }
}

/** Never headers, and no query: codes, tokens and hints travel in both. */
function requestFields(request: RequestLike): Record<string, unknown> {
  return {
    id: request.id,
    method: request.method,
    path: pathOf(request.url ?? ''),
    remoteAddress: request.ip ?? request.socket?.remoteAddress,
  }
}

/** A request target may be a whole URL with credentials in it (RFC 9112 §3.2.2). */
function pathOf(target: string): string {
  if (!target.startsWith('/')) return URL.parse(target)?.pathname ?? ''
  return target.replace(/[?#].*$/s, '')
}

function responseFields(response: { statusCode?: number }): Record<string, unknown> {
  return { statusCode: response.statusCode }
}
