/** Errors of storage and hashing as problems for the caller. */

import { Problem } from '#schemas/problems.ts'
import type { MapError } from '#server/http/errors.ts'
import { HasherBusyError } from '#server/platform/passwords/hasher.ts'
import {
  ConstraintError,
  GuardFailedError,
  OutcomeUnknownError,
  StorageUnavailableError,
} from '#server/storage/contract.ts'

export const mapError: MapError = (error) => {
  if (error instanceof GuardFailedError || error instanceof ConstraintError)
    return new Problem('conflict', 'it was changed at the same moment; try again', { cause: error })
  if (error instanceof HasherBusyError)
    return new Problem('unavailable', 'too many passwords are being checked; try again', {
      extra: { retryAfter: 1 },
      cause: error,
    })
  if (error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError)
    return new Problem('unavailable', 'the database does not answer', {
      extra: { retryAfter: 1 },
      cause: error,
    })
  return undefined
}
