import { describe, expect, it } from 'vitest'
import { matchesWhole, patternProblem } from '#schemas/text/linear-pattern.ts'
import {
  checkPassword,
  normalizePassword,
  type PasswordPolicy,
} from '#server/platform/passwords/policy.ts'

const owner = { username: 'Alice', email: 'alice@example.com' }
const codes = (password: string, policy: PasswordPolicy, who = owner): string[] =>
  checkPassword(password, policy, who).map((issue) => issue.code)

describe('a password policy', () => {
  it.each<[PasswordPolicy, string, string[]]>([
    [{}, '', []],
    [{ length: 4 }, 'abc', ['password.minLength']],
    [{ length: 4 }, 'abcd', []],
    [{ length: 4 }, '🔑🔑🔑', ['password.minLength']],
    [{ maxLength: 4 }, 'abcde', ['password.maxLength']],
    [{ maxLength: 4 }, '🔑🔑🔑🔑', []],
    [{ digits: 2 }, 'a1b', ['password.digits']],
    [{ digits: 2 }, 'a1b٢', []],
    [{ lowerCase: 1 }, 'ABC1', ['password.lowerCase']],
    [{ lowerCase: 1 }, 'ÀÉß', []],
    [{ upperCase: 1 }, 'abc', ['password.upperCase']],
    [{ upperCase: 1 }, 'abÉ', []],
    [{ specialChars: 2 }, 'a-b', ['password.specialChars']],
    [{ specialChars: 2 }, 'a- b', []],
    [{ specialChars: 1 }, 'пароль', ['password.specialChars']],
    [{ notUsername: true }, 'aLICE', ['password.notUsername']],
    [{ notUsername: true }, 'alice1', []],
    [{ notEmail: true }, 'ALICE@example.com', ['password.notEmail']],
    [{ notEmail: true }, 'alice@example.org', []],
    [{ notContainsUsername: true }, 'xxALICExx', ['password.notContainsUsername']],
    [{ notContainsUsername: true }, 'xxBOBxx', []],
    [{ notUsername: false, notEmail: false, notContainsUsername: false }, 'alice', []],
    [{ regexPattern: '[a-z]+\\d' }, 'abc1', []],
    [{ regexPattern: '[a-z]+\\d' }, 'abc1x', ['password.regexPattern']],
    [{ regexPattern: 'a|b' }, 'ab', ['password.regexPattern']],
    [{ passwordBlacklist: ['Winter2026', 'acme'] }, 'winter2026', ['password.blacklisted']],
    [{ passwordBlacklist: ['Winter2026', 'acme'] }, 'winter2026!', []],
  ])('%j finds in %j %j', (policy, password, expected) => {
    expect(codes(password, policy)).toEqual(expected)
  })

  it('names every broken rule at once, in words that say what is asked', () => {
    const policy = { length: 12, digits: 1, upperCase: 2, notContainsUsername: true }
    expect(checkPassword('alice', policy, owner)).toEqual([
      { code: 'password.minLength', message: 'must have at least 12 characters' },
      { code: 'password.digits', message: 'must have at least 1 digit' },
      { code: 'password.upperCase', message: 'must have at least 2 upper-case letters' },
      { code: 'password.notContainsUsername', message: 'must not contain the username' },
    ])
  })

  it('does not hold an absent or empty name against the password', () => {
    const policy = { notUsername: true, notEmail: true, notContainsUsername: true }
    expect(checkPassword('secret', policy, { username: '', email: null })).toEqual([])
    expect(checkPassword('secret', policy)).toEqual([])
  })

  it('never takes more than 1024 characters, whatever the policy says', () => {
    expect(codes('a'.repeat(1024), { maxLength: 5000 })).toEqual([])
    expect(codes('a'.repeat(1025), { maxLength: 5000 })).toEqual(['password.maxLength'])
    const growing = 'ﷺ'.repeat(1024)
    expect(codes(growing, { regexPattern: '(a+)+' })).toContain('password.maxLength')
  })

  it('judges the normalised password', () => {
    expect(normalizePassword('ＡＢＣ①')).toBe('ABC1')
    expect(codes('ＡＢＣ①', { digits: 1, regexPattern: 'ABC1' })).toEqual([])
    expect(codes('ａｌｉｃｅ', { notUsername: true })).toEqual(['password.notUsername'])
  })
})

describe('the pattern of a policy', () => {
  // RegExp does not come to an answer on these: the first alternative backtracks before the second one fits.
  it.each([
    ['(?:(?:a+)+!|a+b)', `${'a'.repeat(400)}b`],
    ['(?:(a|aa)+!|a+b)', `${'a'.repeat(400)}b`],
    ['(?:([a-z]+)*[0-9]|.*b)', `${'a'.repeat(400)}b`],
    ['(?:(x+x+)+y|x+b)', `${'x'.repeat(400)}b`],
  ])('%s is decided, whatever RegExp would do', (pattern, password) => {
    expect(patternProblem(pattern)).toBeUndefined()
    expect(matchesWhole(pattern, password)).toBe(true)
    expect(matchesWhole(pattern, `${password}?`)).toBe(false)
  })

  it.each([
    '(',
    '[z-a]',
    'a)|(b',
    '\\',
    '(?<a>x)(?<a>y)',
    '(?=.*\\d).+',
    '(?!x).+',
    '(?<=a)b',
    '(?<!a)b',
    '(.)\\1',
    'a{1001}',
    '(((a{10}){10}){10}){10}',
    '.{200}.{200}.{201}',
  ])('%s is refused, and matches nothing', (pattern) => {
    expect(patternProblem(pattern)).toMatch(/^cannot be used as a pattern: .+/)
    expect(matchesWhole(pattern, 'a'.repeat(601))).toBe(false)
    const [found] = checkPassword('a'.repeat(601), { regexPattern: pattern })
    expect(found?.message).toContain('an administrator must replace it')
  })

  it.each(['[a-z]+\\d', '.*[A-Z].*', '\\p{L}{3,}.*', '^[!-~]{12,256}$', '(?i)[a-z]+'])(
    '%s is accepted',
    (pattern) => {
      expect(patternProblem(pattern)).toBeUndefined()
    },
  )

  it('runs over no password that is longer than the policy allows', () => {
    const policy = { maxLength: 8, regexPattern: '[a-z]+' }
    expect(codes('A'.repeat(9), policy)).toEqual(['password.maxLength'])
  })
})
