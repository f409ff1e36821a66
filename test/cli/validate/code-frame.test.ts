/** Code frames: the lines around a place, a mark under it, and nothing that a terminal or a log should not have. */
import { describe, expect, it } from 'vitest'
import { createFrames } from '#cli/validate/code-frame.ts'
import { maskSecrets } from '#cli/validate/mask.ts'

const text = [
  'realm: acme',
  '',
  'clients:',
  '  - clientId: web',
  '    redirectUri: [https://shop.example/cb]',
  '    enabled: true',
  'roles: []',
].join('\n')

const frame = (of: string, line: number, column: number, endColumn?: number): string =>
  createFrames(() => of)({
    file: 'a.yaml',
    line,
    column,
    ...(endColumn === undefined ? {} : { endColumn }),
  }).join('\n')

describe('a code frame', () => {
  it('shows two lines before and after, and marks the range', () => {
    expect(frame(text, 5, 5, 16)).toBe(
      [
        '  3 | clients:',
        '  4 |   - clientId: web',
        '> 5 |     redirectUri: [https://shop.example/cb]',
        '    |     ^^^^^^^^^^^',
        '  6 |     enabled: true',
        '  7 | roles: []',
      ].join('\n'),
    )
  })

  it('marks one character where nobody knows how long it is', () => {
    expect(frame(text, 4, 5)).toBe(
      [
        '  2 |',
        '  3 | clients:',
        '> 4 |   - clientId: web',
        '    |     ^',
        '  5 |     redirectUri: [https://shop.example/cb]',
        '  6 |     enabled: true',
      ].join('\n'),
    )
  })

  it('ends with the file, whose last line break begins no line', () => {
    expect(frame(`${text}\n`, 7, 1, 6)).toBe(
      [
        '  5 |     redirectUri: [https://shop.example/cb]',
        '  6 |     enabled: true',
        '> 7 | roles: []',
        '    | ^^^^^',
      ].join('\n'),
    )
  })

  it('begins with the file', () => {
    expect(frame(text, 1, 8, 12)).toBe(
      ['> 1 | realm: acme', '    |        ^^^^', '  2 |', '  3 | clients:'].join('\n'),
    )
  })

  it('aligns the numbers of lines', () => {
    const lines = Array.from({ length: 12 }, (_, i) => `key${i}: ${i}`).join('\n')
    expect(frame(lines, 10, 1, 5)).toBe(
      [
        '   8 | key7: 7',
        '   9 | key8: 8',
        '> 10 | key9: 9',
        '     | ^^^^',
        '  11 | key10: 10',
        '  12 | key11: 11',
      ].join('\n'),
    )
  })

  it('takes Windows line breaks for line breaks', () => {
    expect(frame('a: 1\r\nb: 2\r\n', 2, 4, 5)).toBe(
      ['  1 | a: 1', '> 2 | b: 2', '    |    ^'].join('\n'),
    )
  })

  it('stays aligned behind tabs and characters that are twice as wide', () => {
    expect(frame('a:\tb', 1, 4, 5)).toBe(['> 1 | a:  b', '    |     ^'].join('\n'))
    expect(frame('名: x', 1, 4, 5)).toBe(['> 1 | 名: x', '    | \u3000  ^'].join('\n'))
  })

  it('shows control characters by their numbers, and stays aligned behind them', () => {
    expect(frame('a: "\u001b[2J" # x', 1, 11, 14)).toBe(
      ['> 1 | a: "\\u001b[2J" # x', '    |                ^^^'].join('\n'),
    )
  })

  it('shows a part of a line that is very long', () => {
    const long = `a: ${'x'.repeat(500)}!${'y'.repeat(500)}`
    const [line = '', mark = ''] = frame(long, 1, 504, 505).split('\n')
    expect(line.length).toBeLessThan(120)
    expect(line).toContain('x!y')
    expect(line[mark.indexOf('^')]).toBe('!')
  })

  it('is empty for a place that is not in the file', () => {
    expect(frame(text, 99, 1)).toBe('')
    expect(createFrames(() => undefined)({ file: 'x', line: 1, column: 1 })).toEqual([])
  })
})

describe('secrets in a file', () => {
  it.each([
    ['secret: hunter2', 'secret: •••••••'],
    ['    - secret: hunter2 # why', '    - secret: ••••••• # why'],
    ['secret: "hun\\"ter, 2" # x', 'secret: ••••••••••••• # x'],
    ["bindPassword: 'it''s'", 'bindPassword: •••••••'],
    [
      '{ clientId: a, clientSecret: hunter2, x: 1 }',
      '{ clientId: a, clientSecret: •••••••, x: 1 }',
    ],
    ['{ "token": "hunter2" }', '{ "token": ••••••••• }'],
    ['initialPassword: &p hunter2', 'initialPassword: &p •••••••'],
    ['my_password: hunter2', 'my_password: •••••••'],
    ['secret: |\n  line one\n  two\nnext: x', 'secret: |\n  ••••••••\n  •••\nnext: x'],
    ['secret: one\n  two\nnext: x', 'secret: •••\n  •••\nnext: x'],
    ['secret:\n  hunter2\nnext: x', 'secret:\n  •••••••\nnext: x'],
    ['passwordHash: $argon2id$v=19', 'passwordHash: ••••••••••••••'],
  ])('%j are not shown', (given, shown) => {
    expect(maskSecrets(given)).toBe(shown)
  })

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is what people write
  it.each([
    'secret: ${env:NAME}',
    'secret: "${file:a/b}" # from there',
    '{ secret: "${env:NAME}", name: x }',
    'secret: *shared',
    'tokenEndpointAuthMethod: none',
    'passwordPolicy: { length: 12 }',
    'clientSecretStorage: hashed',
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is what people write
  ])('%j holds none', (given) => {
    expect(maskSecrets(given)).toBe(given)
  })

  it('keep every other character on its line and column', () => {
    const file = 'a: 1\r\nsecret: x\r\n\r\n# y\n'
    expect(maskSecrets(file)).toBe('a: 1\r\nsecret: •\r\n\r\n# y\n')
  })
})
