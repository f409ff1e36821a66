/** The catalogue of event types is complete: every emitted type is listed, so that filters know it. */

import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  categories,
  type EventType,
  eventTypes,
  isEventPattern,
} from '#schemas/wire/event-types.ts'
import type { AuditEvent } from '#server/audit/event.ts'

const root = new URL('../../', import.meta.url).pathname
const sources = globSync('{server,cli,schemas}/**/*.ts', { cwd: root })
  .filter((path) => path !== 'schemas/wire/event-types.ts')
  .map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }))

const names = Object.keys(eventTypes)
/** The first words of the names: whatever begins with one is meant to be an event. */
const beginnings = new Set(names.map((name) => `${name.split('_')[0]}_`))
const looksLikeEvent = (word: string): boolean =>
  [...beginnings].some((beginning) => word.startsWith(beginning))

/** Events of protocols that are not served yet; their code will emit types of this list. */
const unbuilt: string[] = []

describe('the catalogue of event types', () => {
  it('holds every word in the source that looks like an event', () => {
    const unknown = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/'([A-Z]+_[A-Z_]+)'/g)]
        .map(([, word = '']) => word)
        .filter((word) => looksLikeEvent(word) && !names.includes(word))
        .map((word) => `${path}: ${word}`),
    )
    // Keycloak's names of required actions, which are no events.
    expect(unknown.filter((line) => !/: (UPDATE_PASSWORD|VERIFY_PROFILE)$/.test(line))).toEqual([])
  })

  it('holds nothing that is never emitted', () => {
    const words = new Set(
      sources
        .filter(({ path }) => path.startsWith('server/'))
        .flatMap(({ text }) => [...text.matchAll(/'([A-Z]+_?[A-Z_]+)'/g)])
        .map(([, word]) => word),
    )
    expect(names.filter((name) => !words.has(name))).toEqual(unbuilt)
  })

  it('cannot be left by a cast: only the reader of stored rows makes one', () => {
    const casts = sources.filter(({ text }) =>
      /as (unknown as )?(EventType|AuditEvent)\b/.test(text),
    )
    expect(casts.map(({ path }) => path)).toEqual(['server/audit/records.ts'])
  })

  it('is closed: the type of an event is one of its names', () => {
    const type: EventType = 'LOGIN_SUCCESS'
    const event: Pick<AuditEvent, 'type'> = { type }
    // @ts-expect-error a word outside the catalogue does not compile
    const other: Pick<AuditEvent, 'type'> = { type: 'SOMETHING_ELSE' }
    expect([event.type, other.type]).toEqual(['LOGIN_SUCCESS', 'SOMETHING_ELSE'])
  })

  it('puts every type into a category that can be asked for, and lets webhooks subscribe to it', () => {
    for (const [name, category] of Object.entries(eventTypes)) {
      expect(categories, name).toContain(category)
      expect(isEventPattern(name), name).toBe(true)
    }
  })

  it('lets webhooks subscribe to all and to a prefix, and to nothing that cannot happen', () => {
    for (const pattern of ['*', 'ADMIN_*', 'LOGIN*']) expect(isEventPattern(pattern)).toBe(true)
    for (const pattern of ['', 'LOGIN', 'login_success', 'NO_SUCH_*', '*_SUCCESS', 'ADMIN_**'])
      expect(isEventPattern(pattern), pattern).toBe(false)
  })
})
