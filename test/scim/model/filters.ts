/** Filters of users as texts, and what each says of a user (RFC 7644 §3.4.2.2). */

import fc from 'fast-check'
import { foldCase } from '#schemas/text/fold-case.ts'
import { foldName } from '#schemas/text/names.ts'
import { enterprise } from '../sender.ts'
import type { Json } from './patched.ts'
import { type, word } from './values.ts'

const fold = foldCase
type Test = (user: Json) => boolean
export const texts: Readonly<Record<string, (user: Json) => (string | undefined)[]>> = {
  userName: (user) => [user['userName']],
  title: (user) => [user['title']],
  'name.familyName': (user) => [user['name']?.familyName],
  'name.givenName': (user) => [user['name']?.givenName],
  phoneNumbers: (user) => (user['phoneNumbers'] ?? []).map((one: Json) => one['value']),
  'addresses.country': (user) => (user['addresses'] ?? []).map((one: Json) => one['country']),
  [`${enterprise}:department`]: (user) => [user[enterprise]?.department],
}
const comparisons: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  eq: (a, b) => a === b,
  co: (a, b) => a.includes(b),
  sw: (a, b) => a.startsWith(b),
  ew: (a, b) => a.endsWith(b),
  gt: (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0,
  le: (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) <= 0,
}
const comparison: fc.Arbitrary<{ text: string; test: Test }> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...Object.keys(texts)),
      fc.constantFrom('eq', 'co', 'sw', 'ew', 'gt', 'le', 'ne', 'pr'),
      word,
    )
    .map(([path, op, value]) => ({
      text: op === 'pr' ? `${path} pr` : `${path} ${op} ${JSON.stringify(value)}`,
      test: (user: Json) => {
        const fold = path === 'userName' ? foldName : foldCase
        const values = (texts[path]?.(user) ?? []).filter((one) => one !== undefined).map(fold)
        if (op === 'pr') return values.length > 0
        if (op === 'ne') return values.length === 0 || values.some((one) => one !== fold(value))
        return values.some((one) => comparisons[op]?.(one, fold(value)) ?? false)
      },
    })),
  fc.boolean().map((value) => ({
    text: `active eq ${value}`,
    test: (user: Json) => user['active'] === value,
  })),
  fc.tuple(type, word).map(([kind, value]) => ({
    text: `phoneNumbers[type eq "${kind}" and value eq ${JSON.stringify(value)}]`,
    test: (user: Json) =>
      (user['phoneNumbers'] ?? []).some(
        (one: Json) => one['type'] === kind && fold(one['value'] ?? '') === fold(value),
      ),
  })),
)
export const filter = fc.oneof(
  comparison,
  comparison.map(({ text, test }) => ({
    text: `not (${text})`,
    test: (user: Json) => !test(user),
  })),
  fc.tuple(comparison, fc.constantFrom('and', 'or'), comparison).map(([a, op, b]) => ({
    text: `(${a.text} ${op} ${b.text})`,
    test: (user: Json) =>
      op === 'and' ? a.test(user) && b.test(user) : a.test(user) || b.test(user),
  })),
)
