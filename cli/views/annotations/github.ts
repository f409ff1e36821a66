/**
 * Workflow commands of GitHub Actions: each becomes an annotation at its line of a pull request. GitHub shows ten errors
 * and ten warnings of a step; the log holds all.
 */

import { harmlessLines } from '../../control-characters.ts'
import type { Diagnostic, Place } from '../../diagnostics.ts'
import { orCodes, showIfValid } from '../human/estate/validation.ts'
import { printOut } from '../streams.ts'

const escapeData = (text: string): string =>
  harmlessLines(text).replaceAll('%', '%25').replaceAll('\n', '%0A')

/** In a property, what separates properties is escaped too. */
const escapeProperty = (text: string): string =>
  escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')

export interface AnnotationOptions {
  /** The path that the repository knows a file by, from the one that a person sees. */
  readonly pathOf?: (file: string) => string
}

const placeText = ({ file, line, column }: Place, pathOf: (file: string) => string): string =>
  `${pathOf(file)}:${line}:${column}`

export const annotation = (
  { severity, code, message, hint, place, related = [] }: Diagnostic,
  { pathOf = (file) => file }: AnnotationOptions = {},
): string => {
  const properties = [
    ...(place === undefined
      ? []
      : [
          ['file', pathOf(place.file)],
          ['line', String(place.line)],
          ['col', String(place.column)],
          ...(place.endColumn === undefined ? [] : [['endColumn', String(place.endColumn)]]),
        ]),
    ['title', code],
  ].map(([name, value = '']) => `${name}=${escapeProperty(value)}`)
  const text = [
    message,
    ...related.map((one) => `${one.message}: ${placeText(one.place, pathOf)}`),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ].join('\n')
  return `::${severity} ${properties.join(',')}::${escapeData(text)}`
}

/** Errors first, because only the first ten of each are shown. */
const annotate = (diagnostics: readonly Diagnostic[], options?: AnnotationOptions): void => {
  for (const severity of ['error', 'warning'])
    for (const diagnostic of diagnostics)
      if (diagnostic.severity === severity) printOut(annotation(diagnostic, options))
}

export const annotateValidation = orCodes((validated, call) => {
  annotate(validated.diagnostics, validated)
  showIfValid(validated, call)
})
