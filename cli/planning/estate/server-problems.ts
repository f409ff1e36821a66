/**
 * Maps problems of the server to positions in files: `/operations/3/doc/redirectUris/0` becomes a line and a column.
 */

import type { FieldError } from '#schemas/problems.ts'
import type { Diagnostic } from '../../diagnostics.ts'
import { nameOf } from '../names.ts'
import type { RealmPlan } from '../plan.ts'
import type { Wanted } from './wanted.ts'

const operationField = /^\/operations\/(\d+)(?:\/(?:doc|secrets))?(\/.*)?$/

/** Whether the server refused the changes, and not the caller, the realm or the revision. */
export const isAboutChanges = ({
  code,
  errors,
}: {
  readonly code: string
  readonly errors: readonly FieldError[]
}): boolean => code === 'validation' || errors.some(({ field }) => operationField.test(field))

/** A problem without a field is reported with its own text. */
export const serverDiagnostics = (
  errors: readonly FieldError[],
  plan: RealmPlan,
  wanted: Wanted | undefined,
): Diagnostic[] =>
  errors.map(({ field, code, message }) => {
    const [, index, rest = ''] = operationField.exec(field) ?? []
    const change = index === undefined ? undefined : plan.changes[Number(index)]
    if (!change) return { severity: 'error', code, message: `${field}: ${message}` }
    const desired = wanted?.desired.find(
      ({ kind, key }) => kind.kind === change.kind && key === change.key,
    )
    // A secret's pointer is one segment there, with its slashes escaped.
    const pointer = rest.replaceAll('~1', '/').replace(/^\/\//, '/')
    const place =
      (desired && wanted?.loaded.placeOf(`${desired.pointer}${pointer}`)) ?? change.place
    return {
      severity: 'error',
      code,
      message: `${nameOf(change.kind, change.key)}${pointer === '' ? '' : `, ${pointer.slice(1)}`}: ${message}`,
      ...(place ? { place } : {}),
    }
  })
