/** A plan as JSON, for programs: the plan itself, whether there is anything to do, and the sum of its realms. */

import { type Doc, isObject, type JsonSchema } from '#schemas/json-schema.ts'
import type { CertificateFacts } from '#schemas/public-keys/certificates.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Place } from '#schemas/wire/wire.ts'
import {
  type Change,
  isApplicable,
  isEmpty,
  type Plan,
  type PlanSummary,
  totalOf,
} from '../../planning/plan.ts'
import { certificateAt } from '../plan/certificates.ts'

export interface PlanOutput extends Plan {
  readonly hasChanges: boolean
  /** With any problem in it, an apply refuses. */
  readonly isApplicable: boolean
  readonly summary: PlanSummary
  /** Certificates that come or go, by what a person can compare; the changes have them as they are sent. */
  readonly certificates: readonly PlannedCertificate[]
}

export interface PlannedCertificate extends Place, CertificateFacts {
  readonly realm: string
  readonly pointer: string
  readonly change: 'add' | 'remove'
}

const certificatesIn = (value: unknown, schema: JsonSchema, pointer = ''): [string, unknown][] => {
  if (schema.format === 'certificate') return [[pointer, value]]
  if (Array.isArray(value))
    return value.flatMap((item) => certificatesIn(item, schema.items ?? {}, pointer))
  if (!isObject(value)) return []
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    name in value ? certificatesIn(value[name], inner, `${pointer}/${name}`) : [],
  )
}

const certificatesOf = (
  realm: string,
  { kind, key, before, doc }: Change,
): PlannedCertificate[] => {
  const { spec } = kindNamed(kind)
  const factsIn = (value: Doc | null) =>
    certificatesIn(value ?? {}, spec).flatMap(([pointer, text]) => {
      const facts = certificateAt(spec, pointer, text)
      return facts ? [{ pointer, facts }] : []
    })
  const [had, has] = [factsIn(before), factsIn(doc)]
  const without = (list: typeof had, others: typeof had) =>
    list.filter(
      (one) =>
        !others.some(
          ({ pointer, facts }) => pointer === one.pointer && facts.sha256 === one.facts.sha256,
        ),
    )
  const told =
    (change: PlannedCertificate['change']) =>
    ({ pointer, facts }: (typeof had)[number]): PlannedCertificate => ({
      realm,
      kind,
      key,
      pointer,
      change,
      ...facts,
    })
  return [...without(had, has).map(told('remove')), ...without(has, had).map(told('add'))]
}

export const planOutput = (plan: Plan): PlanOutput => ({
  ...plan,
  hasChanges: !isEmpty(plan),
  isApplicable: isApplicable(plan),
  summary: totalOf(plan.realms),
  certificates: plan.realms.flatMap(({ realm, changes }) =>
    changes.flatMap((change) => certificatesOf(realm, change)),
  ),
})
