/** SCIM filters (RFC 7644 §3.4.2.2): read, asked of a resource, and bounded. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseScimFilter, type ScimFilter, ScimFilterError } from '#schemas/text/scim-filter.ts'
import {
  attributesOfScimFilter,
  lookupIn,
  matchesScimFilter,
} from '#schemas/text/scim-filter-match.ts'

const ada = {
  userName: 'Ada',
  active: true,
  name: { familyName: 'Lovelace' },
  age: 36,
  emails: [
    { type: 'work', value: 'ada@acme.example' },
    { type: 'home', value: 'ada@home.example' },
  ],
  groups: [{ value: 'g1', display: 'sales' }],
  attributes: { kind: ['staff', 'admin'] },
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'R&D' },
}

const holds = (text: string): boolean => matchesScimFilter(parseScimFilter(text), lookupIn(ada))

describe('a SCIM filter', () => {
  it.each([
    ['userName eq "ada"', true],
    ['USERNAME EQ "ADA"', true],
    ['userName ne "ada"', false],
    ['userName sw "A" and not (active eq false)', true],
    ['name.familyName co "love"', true],
    ['name.familyName ew "lace"', true],
    ['name.givenName pr', false],
    ['nickName eq null', true],
    ['emails[type eq "work" and value ew "@acme.example"]', true],
    ['emails[type eq "home" and value ew "@acme.example"]', false],
    ['emails.value eq "ada@home.example"', true],
    ['emails eq "ada@home.example"', true],
    ['groups eq "sales"', true],
    ['groups.display eq "sales" or groups eq "other"', true],
    ['groups ne "sales"', false],
    ['attributes.kind eq "staff"', true],
    ['attributes.kind eq "guest"', false],
    ['age gt 30 and age le 36', true],
    ['age lt 30', false],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "R&D"', true],
    ['active eq true and (userName eq "x" or userName eq "ada")', true],
  ])('%s is %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  it.each([
    '',
    'userName',
    'userName eq',
    'userName eq ada',
    'userName eq "a" "b"',
    'userName eq "a" and',
    '(userName eq "a"',
    'userName eq "a")',
    'not userName eq "a"',
    'userName eq {"a":1}',
    'emails[type eq "work"',
    '"userName" eq "a"',
    'userName eq "a',
  ])('%j is refused', (text) => {
    expect(() => parseScimFilter(text)).toThrow(ScimFilterError)
  })

  it('is refused when it is too long, too deep or has too many conditions', () => {
    const many = (n: number) => Array.from({ length: n }, () => 'a pr').join(' and ')
    expect(() => parseScimFilter(many(20))).not.toThrow()
    expect(() => parseScimFilter(many(21))).toThrow(/20 terms/)
    expect(() => parseScimFilter(`${'('.repeat(5)}a pr${')'.repeat(5)}`)).not.toThrow()
    expect(() => parseScimFilter(`${'('.repeat(6)}a pr${')'.repeat(6)}`)).toThrow(/5 levels/)
    expect(() => parseScimFilter(`a eq "${'x'.repeat(2000)}"`)).toThrow(/2000 characters/)
  })

  it('means what its tree means, for any tree', () => {
    const attribute = fc
      .constantFrom('p', 'q', 'r')
      .map((name) => ({ schema: undefined, name, sub: undefined }))
    const { filter } = fc.letrec<{ filter: ScimFilter; leaf: ScimFilter }>((tie) => ({
      leaf: fc.oneof(
        fc.record({ op: fc.constant('pr' as const), path: attribute }),
        fc.record({
          op: fc.constantFrom('eq' as const, 'ne' as const),
          path: attribute,
          value: fc.constantFrom('a', 'b', 'say "hi"', ''),
        }),
      ),
      filter: fc.oneof(
        { depthSize: 'small', maxDepth: 3 },
        tie('leaf'),
        fc.record({ op: fc.constant('not' as const), term: tie('filter') }),
        fc.record({
          op: fc.constantFrom('and' as const, 'or' as const),
          terms: fc.array(tie('filter'), { minLength: 2, maxLength: 2 }),
        }),
      ),
    }))
    const written = (one: ScimFilter): string => {
      if (one.op === 'not') return `not (${written(one.term)})`
      if ('terms' in one) return one.terms.map((part) => `(${written(part)})`).join(` ${one.op} `)
      if (one.op === 'pr') return `${one.path.name} pr`
      return 'value' in one ? `${one.path.name} ${one.op} ${JSON.stringify(one.value)}` : ''
    }
    fc.assert(
      fc.property(
        filter,
        fc.record({ p: fc.constantFrom('a', 'b'), q: fc.constant('A') }),
        (tree, doc) => {
          const text = written(tree)
          fc.pre(text.length <= 2000)
          expect(matchesScimFilter(parseScimFilter(text), lookupIn(doc))).toBe(
            matchesScimFilter(tree, lookupIn(doc)),
          )
        },
      ),
    )
  })

  it('names the attributes that it asks for', () => {
    expect([
      ...attributesOfScimFilter(parseScimFilter('not (Groups.display eq "a") or x pr')),
    ]).toEqual(['groups', 'x'])
  })
})
