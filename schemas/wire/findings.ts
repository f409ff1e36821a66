/** A finding of a check of an installation: ok, warning or error, and a hint. */

export interface Finding {
  /** What was looked at; stable. */
  readonly check: string
  readonly status: 'ok' | 'warning' | 'error'
  readonly message: string
  /** None where all is well. */
  readonly remedy?: string
}

export const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message })

export const warning = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'warning',
  message,
  remedy,
})

export const error = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'error',
  message,
  remedy,
})
