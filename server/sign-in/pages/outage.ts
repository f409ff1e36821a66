/** A sign-in that cannot go on at the moment: its user has the factor that is asked for, and the realm cannot ask for it. */

import type { ErrorPage, PageError } from '#server/http/pages/pages.ts'

export class OutageError extends Error {
  readonly page: PageError
  /** Where to start again. */
  readonly backUrl: string
  readonly status: number
  readonly detail: string | undefined
  constructor(
    page: PageError,
    backUrl: string,
    { status = 403, detail }: { status?: number; detail?: string | undefined } = {},
  ) {
    super(page)
    this.page = page
    this.backUrl = backUrl
    this.status = status
    this.detail = detail
  }
}

/** As a page of the realm tells it. */
export const tellOutage = (
  error: unknown,
): Pick<ErrorPage, 'status' | 'error' | 'detail' | 'backUrl'> | undefined =>
  error instanceof OutageError
    ? { status: error.status, error: error.page, detail: error.detail, backUrl: error.backUrl }
    : undefined
