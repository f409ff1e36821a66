/** A sign-in that cannot go on at the moment: its user has the factor that is asked for, and the realm cannot ask for it. */

import type { ErrorPage, PageError } from '#server/http/pages/pages.ts'

export class OutageError extends Error {
  readonly page: PageError
  /** Where to start again. */
  readonly backUrl: string
  constructor(page: PageError, backUrl: string) {
    super(page)
    this.page = page
    this.backUrl = backUrl
  }
}

/** As a page of the realm tells it. */
export const tellOutage = (
  error: unknown,
): Pick<ErrorPage, 'status' | 'error' | 'backUrl'> | undefined =>
  error instanceof OutageError
    ? { status: 403, error: error.page, backUrl: error.backUrl }
    : undefined
