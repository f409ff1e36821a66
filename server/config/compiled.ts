/** The validators of the sections of the configuration: none here, and all of them in what build.ts makes of this module. */

import type { Compiled } from '#schemas/ajv.ts'

export const compiled: Compiled = {}
