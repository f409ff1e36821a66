/** The validator of `iamctl.yaml`: none here, and the real one in what build.ts makes of this module. */

import type { Compiled } from '#schemas/ajv.ts'

export const compiled: Compiled = {}
