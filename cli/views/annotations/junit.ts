/**
 * Diagnostics as JUnit XML, which CI systems show as test results: a suite per file with a case per diagnostic. Errors
 * are failures, and warnings too with --warnings-as-errors; a file without diagnostics is one passed case.
 */

import type { Diagnostic } from '../../diagnostics.ts'
import { harmless, harmlessLines } from '../human/elements/text.ts'
import { orCodes } from '../human/estate/validation.ts'
import { printOut } from '../streams.ts'

export interface JunitOptions {
  readonly files: readonly string[]
  readonly warningsFail: boolean
  readonly pathOf: (file: string) => string
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

// Half of a pair, and what is no character at all, no XML file may hold, not even escaped (XML 1.0 §2.2).
const noCharacter =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g

const xml = (text: string): string =>
  text.replaceAll(noCharacter, '\ufffd').replaceAll(/[&<>"]/g, (one) => entities[one] ?? one)

const attributes = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => ` ${name}="${xml(harmless(String(value)))}"`)
    .join('')

/** What is wrong with no file in particular. */
const nowhere = 'iamctl'

const textOf = ({ message, hint, place, related = [] }: Diagnostic): string =>
  [
    place === undefined ? message : `${place.file}:${place.line}:${place.column}: ${message}`,
    ...related.map(
      (one) => `${one.message}: ${one.place.file}:${one.place.line}:${one.place.column}`,
    ),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ].join('\n')

const caseOf = (diagnostic: Diagnostic, classname: string, fails: boolean): string[] => {
  const { severity, code, message, place } = diagnostic
  const head = attributes({
    classname,
    name: `${code}: ${message}`,
    ...(place === undefined ? {} : { file: classname, line: place.line }),
  })
  const text = xml(harmlessLines(textOf(diagnostic)))
  return [
    `    <testcase${head}>`,
    fails
      ? `      <failure${attributes({ type: severity, message })}>${text}</failure>`
      : `      <system-out>${severity}: ${text}</system-out>`,
    '    </testcase>',
  ]
}

const junitOf = (
  diagnostics: readonly Diagnostic[],
  { files, warningsFail, pathOf }: JunitOptions,
): string => {
  const fails = ({ severity }: Diagnostic): boolean => severity === 'error' || warningsFail
  const byFile = Map.groupBy(diagnostics, ({ place }) => place?.file ?? nowhere)
  const suites = [...new Set([...files, ...byFile.keys()])].sort().map((file) => {
    const found = byFile.get(file) ?? []
    const name = file === nowhere ? nowhere : pathOf(file)
    const cases =
      found.length === 0
        ? [`    <testcase${attributes({ classname: name, name: 'valid', file: name })}/>`]
        : found.flatMap((one) => caseOf(one, name, fails(one)))
    const counts = { tests: Math.max(1, found.length), failures: found.filter(fails).length }
    return {
      counts,
      lines: [`  <testsuite${attributes({ name, ...counts })}>`, ...cases, '  </testsuite>'],
    }
  })
  const sum = (count: 'tests' | 'failures'): number =>
    suites.reduce((total, { counts }) => total + counts[count], 0)
  const head = attributes({
    name: 'iamctl validate',
    tests: sum('tests'),
    failures: sum('failures'),
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${head}>`,
    ...suites.flatMap(({ lines }) => lines),
    '</testsuites>',
  ].join('\n')
}

export const printJunit = orCodes((validated) =>
  printOut(junitOf(validated.diagnostics, validated)),
)
