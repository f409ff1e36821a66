/** The same diagnostics for people, programs and pull requests. */
import { describe, expect, it } from 'vitest'
import { type Diagnostic, diagnosticsSummary } from '#cli/diagnostics.ts'
import { annotation } from '#cli/views/annotations/github.ts'
import { diagnosticsText } from '#cli/views/human/estate/diagnostics.ts'
import { reportOf } from '#cli/views/json/diagnostics.ts'

const text = 'realm: acme\nroles:\n  - nmae: x\n'

const error: Diagnostic = {
  severity: 'error',
  code: 'unknown-field',
  message: 'roles[0]: unknown field "nmae"',
  place: { file: 'realms/a.yaml', line: 3, column: 5, endColumn: 9 },
  hint: 'did you mean "name"?',
}
const warning: Diagnostic = {
  severity: 'warning',
  code: 'literal-secret',
  message: 'the secret is written in the file',
  place: { file: 'realms/b.yaml', line: 1, column: 1 },
  related: [{ message: 'first here', place: { file: 'realms/a.yaml', line: 2, column: 1 } }],
}
const homeless: Diagnostic = {
  severity: 'error',
  code: 'file-missing',
  message: 'x does not exist',
}

describe('for people', () => {
  it('a diagnostic is its place, code and message, the lines, and what to do', () => {
    const shown = diagnosticsText({ diagnostics: [error, homeless], textOf: () => text })
    expect(shown).toBe(
      [
        'realms/a.yaml:3:5: error unknown-field: roles[0]: unknown field "nmae"',
        '  1 | realm: acme',
        '  2 | roles:',
        '> 3 |   - nmae: x',
        '    |     ^^^^',
        '  hint: did you mean "name"?',
        '',
        'error file-missing: x does not exist',
        '',
      ].join('\n'),
    )
  })

  it('related places are named', () => {
    const shown = diagnosticsText({ diagnostics: [warning], textOf: () => undefined })
    expect(shown).toBe(
      'realms/b.yaml:1:1: warning literal-secret: the secret is written in the file\n  first here: realms/a.yaml:2:1\n',
    )
  })

  it('colours are put around what matters', () => {
    const shown = diagnosticsText(
      { diagnostics: [error], textOf: () => text },
      (style, painted) => `<${String(style)}>${painted}</>`,
    )
    expect(shown).toContain('<red>error unknown-field</>')
    expect(shown).toContain('<red>    |     ^^^^</>')
    expect(shown).toContain('<cyan>hint:</>')
  })

  it('control characters from a file do not reach the terminal', () => {
    const shown = diagnosticsText({
      diagnostics: [{ ...error, message: 'a\u001b[31mb', hint: 'c\u0007', code: 'd\r' }],
      textOf: () => 'x: "\u001b]0;title\u0007"\ny: 1\nz: 2\n',
    })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
  })

  it('a file that is wrong all over is shown with frames for a while, and then in lines', () => {
    const many = Array.from({ length: 130 }, () => error)
    const shown = diagnosticsText({ diagnostics: many, textOf: () => text })
    expect(shown.split('nmae: x').length - 1).toBe(100)
    expect(shown.split('realms/a.yaml:3:5').length - 1).toBe(130)
  })

  it.each([
    [[error, error, error, warning], '3 errors, 1 warning in 2 files'],
    [[error], '1 error in 1 file'],
    [[warning, warning], '2 warnings in 1 file'],
    [[homeless], '1 error'],
  ])('the summary counts', (diagnostics, expected) => {
    expect(diagnosticsSummary(diagnostics)).toBe(expected)
  })
})

describe('for programs', () => {
  it('the report says how it went and holds everything', () => {
    expect(reportOf([error, warning], ['acme'], ['realms/a.yaml'])).toEqual({
      formatVersion: 1,
      valid: false,
      errors: 1,
      warnings: 1,
      realms: ['acme'],
      files: ['realms/a.yaml'],
      diagnostics: [error, warning],
    })
    expect(reportOf([warning], [], []).valid).toBe(true)
  })
})

describe('for pull requests', () => {
  it('an annotation has the place, the code as title and the hint', () => {
    expect(annotation(error)).toBe(
      '::error file=realms/a.yaml,line=3,col=5,endColumn=9,title=unknown-field::roles[0]: unknown field "nmae"%0AHint: did you mean "name"?',
    )
  })

  it('the file is named as the repository knows it, related places too', () => {
    expect(annotation(warning, { pathOf: (file) => `iam/${file}` })).toBe(
      '::warning file=iam/realms/b.yaml,line=1,col=1,title=literal-secret::the secret is written in the file%0Afirst here: iam/realms/a.yaml:2:1',
    )
  })

  it('nothing in a message or a name can become a command', () => {
    const shown = annotation({
      ...error,
      message: '100%\r\n::error::injected',
      code: 'a:b,c',
      hint: '50%',
      place: { file: 'a,b:c%.yaml', line: 1, column: 1 },
    })
    expect(shown).toBe(
      '::error file=a%2Cb%3Ac%25.yaml,line=1,col=1,title=a%3Ab%2Cc::100%25\\u000d%0A::error::injected%0AHint: 50%25',
    )
    expect(shown).not.toContain('\n')
  })

  it('without a place there is none', () => {
    expect(annotation(homeless)).toBe('::error title=file-missing::x does not exist')
  })
})
