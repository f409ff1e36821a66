/**
 * Errors of a list of operations. For operations that point into a body all errors are collected, so that a file can be
 * corrected at once; otherwise the first error ends the write.
 */

import { type FieldError, Problem, type ProblemCode, summaryOf } from '#schemas/problems.ts'

/** Most errors to report: more usually have one cause. */
export const mostErrors = 1000

/** Of several sorts of fault the first of these names the reply; what is not here comes last. */
const ranks: readonly ProblemCode[] = ['validation', 'owned', 'protected', 'in-use', 'built-in']

const rankOf = ({ code }: Problem): number => {
  const rank = ranks.indexOf(code)
  return rank === -1 ? ranks.length : rank
}

/** Fields of a document, as in the body of the request. */
export const fieldsAt = (at: string, errors: readonly FieldError[]): FieldError[] =>
  errors.map((error) => ({ ...error, field: `${at}/doc${error.field === '/' ? '' : error.field}` }))

const errorsOf = (at: string, { code, message, errors }: Problem): FieldError[] =>
  errors.length > 0 ? fieldsAt(at, errors) : [{ field: at, code, message }]

/** Lists that every problem of one sort brings along, one after the other. */
const joined = (problems: readonly Problem[]): Record<string, unknown> => {
  const extra: Record<string, unknown> = {}
  for (const problem of problems)
    for (const [name, value] of Object.entries(problem.extra)) {
      const known = extra[name]
      if (Array.isArray(known) && Array.isArray(value)) known.push(...value)
      else extra[name] ??= Array.isArray(value) ? [...value] : value
    }
  return extra
}

/** A 400 that names its fields, which may be many. */
export const invalidAt = (errors: readonly FieldError[]): Problem =>
  new Problem('validation', summaryOf(errors), { errors: errors.slice(0, mostErrors) })

export interface Faults {
  /** Notes what is wrong with the operation at this place; without a place it is thrown. */
  take(at: string | undefined, problem: Problem): void
  readonly any: boolean
  /** Throws what was noted, if anything was. */
  settle(): void
}

export const createFaults = (): Faults => {
  const found: { readonly problem: Problem; readonly errors: readonly FieldError[] }[] = []
  let count = 0

  const settle = (): void => {
    const worst = found.toSorted((a, b) => rankOf(a.problem) - rankOf(b.problem))[0]?.problem
    if (!worst) return
    const alike = found.filter(({ problem }) => problem.code === worst.code)
    const errors = found.flatMap((fault) => fault.errors).slice(0, mostErrors)
    const detail =
      alike.length === 1 && worst.code !== 'validation' ? worst.message : summaryOf(errors)
    throw new Problem(worst.code, detail, {
      errors,
      extra: joined(alike.map(({ problem }) => problem)),
    })
  }

  return {
    take: (at, problem) => {
      if (at === undefined) throw problem
      const errors = errorsOf(at, problem)
      found.push({ problem, errors })
      count += errors.length
      if (count >= mostErrors) settle()
    },
    get any() {
      return found.length > 0
    },
    settle,
  }
}

/**
 * Runs a step on one operation and notes the problem it ends in. What one of many operations does not find is no
 * reason to say that there is nothing at the path of the request.
 */
export const faultsIn = (faults: Faults, at: string | undefined, step: () => void): void => {
  try {
    step()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { code, message, errors, extra } = error
    faults.take(
      at,
      at !== undefined && code === 'not-found'
        ? new Problem('conflict', message, { errors, extra })
        : error,
    )
  }
}
