/**
 * The logger of a request, with its id on every line. Most requests have nothing to say: pino's child, which costs as
 * much as reading a small body, is made for the first line.
 */

import type { FastifyBaseLogger } from 'fastify'

export class RequestLog implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger
  readonly #fields: Readonly<Record<string, unknown>>
  #own: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, fields: Readonly<Record<string, unknown>>) {
    this.#parent = parent
    this.#fields = fields
  }

  get level(): string {
    return this.#parent.level
  }

  #logger(): FastifyBaseLogger {
    this.#own ??= this.#parent.child(this.#fields)
    return this.#own
  }

  fatal(...line: [unknown, string?]): void {
    this.#logger().fatal(...line)
  }
  error(...line: [unknown, string?]): void {
    this.#logger().error(...line)
  }
  warn(...line: [unknown, string?]): void {
    this.#logger().warn(...line)
  }
  info(...line: [unknown, string?]): void {
    this.#logger().info(...line)
  }
  debug(...line: [unknown, string?]): void {
    this.#logger().debug(...line)
  }
  trace(...line: [unknown, string?]): void {
    this.#logger().trace(...line)
  }
  silent(...line: [unknown, string?]): void {
    this.#logger().silent(...line)
  }
  child(fields: Readonly<Record<string, unknown>>): FastifyBaseLogger {
    return this.#logger().child(fields)
  }
}
