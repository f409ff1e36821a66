/** The parts of the server log for developers: audit events, messages and errors, without requests. */

import { isObject } from '#schemas/json-schema.ts'
import type { EventRecord } from '#schemas/wire/events.ts'

/** A message to a user that was written to the log because nothing is there that could send it. */
export interface LoggedMessage {
  readonly realm: string
  readonly channel: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export type LogLine =
  | { readonly type: 'event'; readonly event: EventRecord }
  | { readonly type: 'message'; readonly message: LoggedMessage }
  | { readonly type: 'trouble'; readonly level: string; readonly message: string }
  | { readonly type: 'other' }
  /** No line of the log: what a process writes that fails before it has one. */
  | { readonly type: 'text'; readonly text: string }

const serious: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal'])

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const textIn = (value: Readonly<Record<string, unknown>>, name: string): string | null =>
  typeof value[name] === 'string' ? value[name] : null

const eventOf = (value: Readonly<Record<string, unknown>>): EventRecord => {
  const text = (name: string): string => textIn(value, name) ?? ''
  return {
    id: text('id'),
    ts: text('ts'),
    category: text('category'),
    type: text('type'),
    realm: text('realm'),
    actor: text('actor'),
    sourceIp: text('sourceIp'),
    resourceType: textIn(value, 'resourceType'),
    resourceId: textIn(value, 'resourceId'),
    outcome: text('outcome'),
    detail: textIn(value, 'detail'),
  }
}

const loggedMessage = (value: Readonly<Record<string, unknown>>): LoggedMessage => {
  const text = (name: string): string => textIn(value, name) ?? ''
  return {
    realm: text('realm'),
    channel: text('channel'),
    to: text('to'),
    subject: text('subject'),
    text: text('text'),
  }
}

const messageOf = (value: Readonly<Record<string, unknown>>): string => {
  const { err } = value
  const reason = isObject(err) ? textIn(err, 'message') : null
  return [textIn(value, 'msg'), reason].filter((part) => part !== null).join(': ')
}

export const readLogLine = (line: string): LogLine => {
  const value = parse(line)
  if (!isObject(value)) return { type: 'text', text: line }
  if (value['kind'] === 'audit') return { type: 'event', event: eventOf(value) }
  if (value['kind'] === 'message') return { type: 'message', message: loggedMessage(value) }
  const { level } = value
  return serious.has(level)
    ? { type: 'trouble', level: String(level), message: messageOf(value) }
    : { type: 'other' }
}
