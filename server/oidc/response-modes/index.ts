/** THE list of response modes. */

import type { ResponseMode } from './mode.ts'

export const createResponseModes = (): readonly ResponseMode[] => []
