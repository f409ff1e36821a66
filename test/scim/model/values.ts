/** Values of users: few of each kind, so that they meet. */

import fc from 'fast-check'
import { enterprise } from '../sender.ts'
import type { Json } from './patched.ts'

/** Few, so that they meet; in several cases and scripts. */
export const word = fc.constantFrom(
  'a',
  'A',
  'Bé',
  'bÉ',
  'z z',
  'GROẞ',
  'ς',
  'οΣ',
  'İ',
  '10',
  'q"\\',
  '😀',
)
export const type = fc.constantFrom('work', 'home', 'mobile')
export const phone = fc.record(
  { value: word, type, display: word, primary: fc.boolean() },
  { requiredKeys: ['value', 'type'] },
)
const onePrimary = (list: readonly Json[]): Json[] => {
  const first = list.findIndex(({ primary }) => primary === true)
  return list.map((one, n) =>
    one['primary'] === true && n !== first ? { ...one, primary: false } : one,
  )
}
export const phones = fc
  .uniqueArray(phone, { maxLength: 4, selector: (one) => `${one.value} ${one.type}` })
  .map(onePrimary)
/** "@" stands for the domain of the user, since no two users have the same address. */
export const email = fc.record(
  { value: fc.constantFrom('a@', 'A@', 'b@', 'c.d@'), type, display: word, primary: fc.boolean() },
  { requiredKeys: ['value', 'type'] },
)
export const emails = fc
  .uniqueArray(email, { maxLength: 3, selector: (one) => `${one.value} ${one.type}` })
  .map(onePrimary)
export const optional = { requiredKeys: [] as never[] }
export const person = fc.record(
  {
    title: word,
    nickName: word,
    active: fc.boolean(),
    name: fc.record({ givenName: word, familyName: word, middleName: word }, optional),
    phoneNumbers: phones,
    emails,
    addresses: fc.uniqueArray(
      fc.record(
        { type, streetAddress: word, country: word },
        { requiredKeys: ['type', 'country'] },
      ),
      { maxLength: 2, selector: (one) => one.type },
    ),
    [enterprise]: fc.record({ department: word, manager: fc.record({ value: word }) }, optional),
  },
  optional,
)
