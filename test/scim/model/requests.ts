/** Requests about users and groups, which are named by their place in the order in which they were made. */

import fc from 'fast-check'
import { enterprise } from '../sender.ts'
import { filter, texts } from './filters.ts'
import type { Json } from './patched.ts'
import { email, emails, optional, person, phone, phones, type, word } from './values.ts'

const simple = fc.constantFrom('title', 'nickName')
const change: fc.Arbitrary<Json> = fc.oneof(
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: simple,
    value: fc.oneof(word, fc.constant('')),
  }),
  fc.record({ op: fc.constant('remove'), path: simple }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constantFrom('name.givenName', 'name.middleName'),
    value: word,
  }),
  fc.record({ op: fc.constant('remove'), path: fc.constantFrom('name', 'name.familyName') }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constant('name'),
    value: fc.record({ familyName: word }),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constant('phoneNumbers'),
    value: phones,
  }),
  fc.record({ op: fc.constantFrom('add', 'replace'), path: fc.constant('emails'), value: emails }),
  fc.record({ op: fc.constant('remove'), path: type.map((t) => `emails[type eq "${t}"]`) }),
  fc.record({
    op: fc.constant('replace'),
    path: type.map((t) => `emails[type eq "${t}"]`),
    value: email,
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: type.map((t) => `emails[type eq "${t}"].value`),
    value: fc.constantFrom('a@', 'e@'),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: type.map((t) => `phoneNumbers[type eq "${t}"].value`),
    value: word,
  }),
  fc.record({
    op: fc.constant('replace'),
    path: type.map((t) => `phoneNumbers[type eq "${t}"]`),
    value: phone,
  }),
  fc.record({ op: fc.constant('remove'), path: type.map((t) => `phoneNumbers[type eq "${t}"]`) }),
  fc.record({
    op: fc.constant('remove'),
    path: fc.constantFrom('phoneNumbers', 'addresses', 'emails'),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: type.map((t) => `addresses[type eq "${t}"].streetAddress`),
    value: word,
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constant(`${enterprise}:department`),
    value: word,
  }),
  fc.record({
    op: fc.constant('remove'),
    path: fc.constantFrom(`${enterprise}:manager`, enterprise),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    path: fc.constant('active'),
    value: fc.boolean(),
  }),
  fc.record({
    op: fc.constantFrom('add', 'replace'),
    value: fc.record(
      { title: word, 'name.givenName': word, [enterprise]: fc.record({ department: word }) },
      optional,
    ),
  }),
)
const index = fc.nat(20)
export const makes = fc.record({ do: fc.constant('make' as const), person })
export const command = fc.oneof(
  { weight: 2, arbitrary: makes },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put' as const), at: index, person }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('patch' as const),
      at: index,
      changes: fc.array(change, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), at: index }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      filter,
      sortBy: fc.constantFrom(undefined, ...Object.keys(texts)),
      descending: fc.boolean(),
      count: fc.constantFrom(1, 2, 100),
      byPost: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      at: index,
      excluded: fc.boolean(),
      names: fc.uniqueArray(
        fc.constantFrom(
          'title',
          'name.givenName',
          'phoneNumbers.value',
          'NAME',
          enterprise,
          `${enterprise}:department`,
          'userName',
          'addresses',
        ),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('group' as const),
      name: word,
      members: fc.array(index, { maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('members' as const),
      at: index,
      op: fc.constantFrom('add', 'replace', 'remove'),
      members: fc.array(index, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ungroup' as const), at: index }) },
)
export type Command = typeof command extends fc.Arbitrary<infer T> ? T : never
