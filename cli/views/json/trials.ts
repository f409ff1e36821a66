/** Dry runs as JSON: the result of the dry run, or else the reply of the change. */

import type { RollbackView } from '../../apply/rollback.ts'
import type { ImportView } from '../../transfer/import.ts'
import { printJson } from './json.ts'

export const trialView: RollbackView = {
  preview: () => undefined,
  ended: printJson,
  applied: (_realm, reply) => printJson(reply),
}

export const importView: ImportView = {
  preview: () => undefined,
  ended: printJson,
  imported: (reply) => printJson(reply),
}
