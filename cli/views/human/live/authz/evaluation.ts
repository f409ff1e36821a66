/** A decision of authorization services: a line per resource, scope, permission and policy. */

import type { AuthzEvaluation, AuthzPolicyAnswer } from '#schemas/wire/records.ts'
import { printOut } from '../../../streams.ts'
import { note } from '../../elements/note.ts'
import { harmless } from '../../elements/text.ts'

export interface Evaluated {
  readonly client: string
  readonly realm: string
  /** Whether the files were evaluated instead of the realm. */
  readonly isPlanned: boolean
  readonly evaluation: AuthzEvaluation
}

type Result = AuthzEvaluation['results'][number]

const policyLines = (
  { name, type, logic, status, why, policies = [] }: AuthzPolicyAnswer,
  indent: string,
): string[] => [
  `${indent}${status.padEnd(6)} policy ${harmless(name)} (${type}${logic === 'NEGATIVE' ? ', NEGATIVE' : ''}): ${harmless(why)}`,
  ...policies.flatMap((one) => policyLines(one, `${indent}  `)),
]

const scopeLines = ({ name, status, why, permissions }: Result['scopes'][number]): string[] => [
  `  ${status.padEnd(6)} ${name === null ? 'the resource' : `scope ${harmless(name)}`}: ${harmless(why)}`,
  ...permissions.flatMap((one) => [
    `    ${one.status.padEnd(6)} permission ${harmless(one.name)}, ${one.decisionStrategy}`,
    ...one.policies.flatMap((policy) => policyLines(policy, '      ')),
  ]),
]

const resultLines = ({ resource, status, scopes }: Result): string[] => [
  `${status.padEnd(6)} ${resource.name === null ? 'every resource' : `resource ${harmless(resource.name)}`}`,
  ...scopes.flatMap(scopeLines),
]

export const showEvaluation = (
  { client, realm, isPlanned, evaluation }: Evaluated,
  call: { readonly quiet: boolean },
): void => {
  for (const line of evaluation.results.flatMap(resultLines)) printOut(line)
  const where = isPlanned ? `realm ${realm} as the files would make it` : `realm ${realm}`
  note(call, `${evaluation.status}: client ${client}, ${where}`)
}
