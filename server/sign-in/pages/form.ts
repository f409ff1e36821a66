/** Reads the forms of sign-in pages. A field that is missing or given twice is empty: nothing is guessed, nothing skipped. */

import type { Form } from '../flow/step.ts'

/** The longest password, every character escaped, or the answer of a security key, and the other fields. */
export const FORM_LIMIT = 16_384

export const readForm =
  (body: unknown): Form =>
  (name) => {
    const value: unknown =
      typeof body === 'object' && body !== null && Object.hasOwn(body, name)
        ? Reflect.get(body, name)
        : undefined
    return typeof value === 'string' ? value : ''
  }
