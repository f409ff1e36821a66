/** A realm's audit events as they happen: server-sent events (WHATWG HTML §9.2), read as they come. */

import type { EventRecord } from '#schemas/wire/events.ts'
import { type Call, path } from './http/call.ts'
import type { EventFilter } from './records.ts'

export interface Following {
  readonly filter: EventFilter
  /** The id of the last one that was seen, of a stream that goes on. */
  readonly after: string | undefined
  readonly onOpen: () => void
  /** `id` advances also for events that are not reported. */
  readonly onEvent: (event: EventRecord | null, id: string | undefined) => void
  readonly signal: AbortSignal
}

/** Takes a stream apart, however it is cut into pieces; a message ends with an empty line. */
export const createParser = (
  onMessage: (data: string, id: string | undefined) => void,
): ((text: string) => void) => {
  let rest = ''
  let data: string[] = []
  let id: string | undefined
  const take = (line: string): void => {
    if (line === '') {
      if (data.length > 0 || id !== undefined) onMessage(data.join('\n'), id)
      data = []
      return
    }
    const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (name === 'data') data.push(value)
    if (name === 'id') id = value
  }
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r/)
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}

/** Resolves when the stream has ended, for whatever reason that is no answer of the server. */
export const followEvents =
  (call: Call) =>
  async (realm: string, { filter, after, onOpen, onEvent, signal }: Following): Promise<void> => {
    const { from: _from, to: _to, ...query } = filter
    const parse = createParser((data, id) =>
      onEvent(data === '' ? null : (JSON.parse(data) as EventRecord), id),
    )
    await call('GET', path`/admin/realms/${realm}/events/stream`, {
      query,
      headers: {
        accept: 'text/event-stream, application/problem+json',
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
      stream: { onOpen, onText: parse, signal },
      repeatable: false,
    })
  }
