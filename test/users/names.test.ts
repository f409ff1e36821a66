import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emailErrors, foldName, nameOf, printable, usernameErrors } from '#server/users/names.ts'

describe('names are compared after NFKC and case folding', () => {
  it('folds full-width letters, ligatures and case to one key', () => {
    expect(foldName('ＡＤＭＩＮ')).toBe('admin')
    expect(foldName(' Ad\u{FB01}n ')).toBe('adfin')
    expect(foldName('ÅSA')).toBe(foldName('a\u030asa'))
  })

  it('folding twice changes nothing, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(foldName(foldName(text))).toBe(foldName(text))
      }),
    )
  })

  it('keeps the case of what is shown', () => {
    expect(nameOf(' Ａnna ')).toEqual({ value: 'Anna', key: 'anna' })
  })
})

describe('names are checked after they are normalised, never before', () => {
  it.each(['\uff20', '\ufe6b'])('takes the look-alike %s for the "@" that it becomes', (at) => {
    expect(emailErrors(`victim@bank.example${at}evil.example`)).toHaveLength(1)
    expect(emailErrors(`anna${at}bank.example`)).toEqual([])
    expect(nameOf(`anna${at}bank.example`).key).toBe('anna@bank.example')
  })

  it.each([
    'a\u00a8b', // becomes a space and a diaeresis
    'a b',
    'a\u200bb',
    'a\u00adb',
    'a\u202eb',
    'a\u0000b',
    'a\ud800b',
    '',
    '\u3000',
    '０197a1b2-0000-7000-8000-000000000000',
    'x'.repeat(256),
    '\ufb03'.repeat(86), // 258 letters
  ])('refuses the username %j', (username) => {
    expect(usernameErrors(username)).toMatchObject([{ field: '/username' }])
  })

  it.each(['anna', 'anna@shop.example', 'Ａnna', '李雷', "o'neill", 'a+b', 'x'.repeat(255)])(
    'accepts the username %j',
    (username) => expect(usernameErrors(username)).toEqual([]),
  )

  it.each([
    'anna',
    '@shop.example',
    'anna@',
    'a@b@c.example',
    'anna@shop..example',
    'anna@-shop.example',
    '"a b"@shop.example',
    'anna@shop.example\r\nBcc: x@y.example',
    `${'x'.repeat(65)}@shop.example`,
    `${'\ufb03'.repeat(22)}@shop.example`, // 66 letters
  ])('refuses the address %j', (email) => {
    expect(emailErrors(email)).toMatchObject([{ field: '/email', code: 'format' }])
  })
})

describe('text from a request that is stored', () => {
  it('holds no control characters, no half characters, and is cut', () => {
    expect(printable('a\u0000\u001b[2Jb', 20)).toBe('a\ufffd\ufffd[2Jb')
    expect(printable('abc', 2)).toBe('ab')
    expect(printable('a😀', 2).isWellFormed()).toBe(true)
    expect(printable('\ud800', 2)).toBe('\ufffd')
  })
})
