/** Diagnostics as SARIF 2.1.0 (OASIS), for code scanning and editors. */

import manifest from '../../../package.json' with { type: 'json' }
import type { Diagnostic, Place } from '../../diagnostics.ts'
import { type Code, codes } from '../../validate/codes.ts'
import { orCodes } from '../human/estate/validation.ts'
import { printJson } from '../json/json.ts'

export interface SarifOptions {
  readonly version: string
  /** Every code there is; what is found under another one gets a rule of its own. */
  readonly codes: readonly Code[]
  /** The path that the repository knows a file by, from the one that a person sees. */
  readonly pathOf: (file: string) => string
}

/** An artifact is named by a URI, in which a space or a `#` of a file's name is escaped (§3.4.3). */
const uriOf = (path: string): string =>
  path.replaceAll('\\', '/').split('/').map(encodeURIComponent).join('/')

const rulesOf = (diagnostics: readonly Diagnostic[], known: readonly Code[]): Code[] => {
  const rules = new Map<string, Code>(known.map((one) => [one.code, one]))
  for (const { code, severity } of diagnostics)
    if (!rules.has(code)) rules.set(code, { code, severity, meaning: code.replaceAll('-', ' ') })
  return [...rules.values()]
}

const sarifOf = (
  diagnostics: readonly Diagnostic[],
  { version, codes: known, pathOf }: SarifOptions,
): object => {
  const rules = rulesOf(diagnostics, known)
  const indexes = new Map(rules.map(({ code }, index) => [code, index]))
  const locationOf = ({ file, line, column, endColumn }: Place): object => ({
    physicalLocation: {
      artifactLocation: { uri: uriOf(pathOf(file)), uriBaseId: '%SRCROOT%' },
      region: {
        startLine: line,
        startColumn: column,
        ...(endColumn === undefined ? {} : { endLine: line, endColumn }),
      },
    },
  })
  const resultOf = (diagnostic: Diagnostic): object => {
    const { severity, code, message, hint, place, related = [] } = diagnostic
    return {
      ruleId: code,
      ruleIndex: indexes.get(code),
      level: severity,
      message: { text: hint === undefined ? message : `${message}\nHint: ${hint}` },
      ...(place === undefined ? {} : { locations: [locationOf(place)] }),
      ...(related.length === 0
        ? {}
        : {
            relatedLocations: related.map((one, id) => ({
              id,
              message: { text: one.message },
              ...locationOf(one.place),
            })),
          }),
    }
  }
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'iamctl',
            semanticVersion: version,
            informationUri: 'https://www.npmjs.com/package/iamctl',
            rules: rules.map(({ code, severity, meaning }) => ({
              id: code,
              shortDescription: { text: meaning },
              defaultConfiguration: { level: severity },
            })),
          },
        },
        // As JavaScript and editors count (§3.14.17).
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: {
          '%SRCROOT%': { description: { text: 'The root of the repository.' } },
        },
        results: diagnostics.map(resultOf),
      },
    ],
  }
}

export const printSarif = orCodes(({ diagnostics, pathOf }) =>
  printJson(sarifOf(diagnostics, { version: manifest.version, codes, pathOf })),
)
