/** A realm as JSON: what `iamctl import` reads. */

import type { ExportView } from '../../transfer/export.ts'
import { jsonText, printJson } from './json.ts'

export const jsonExport: ExportView = {
  isBackup: true,
  print: printJson,
  files: (exported) => new Map([[`${exported.realm}.json`, `${jsonText(exported, 2)}\n`]]),
}
