/** Documents of the realm that allow more than their author may have meant: what `validate` and `plan` say of files. */

import { kinds } from '#schemas/registry.ts'
import { type Finding, warning } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'

export const checkCautions = async ({ api, target }: Connection): Promise<Finding[]> => {
  const { realm } = target
  if (realm === undefined) return []
  const findings: Finding[] = []
  for (const kind of kinds) {
    const { cautions } = kind
    if (!cautions) continue
    const listed = await api.documents.list(realm, kind).catch((cause: unknown) => {
      // Missing permissions and a missing realm are findings of their own.
      if (isProblem(cause, 403) || isProblem(cause, 404)) return []
      throw cause
    })
    for (const { key, doc } of listed)
      for (const { code, field, message, hint } of cautions(doc))
        findings.push(warning(code, `${kind.kind} "${key}", ${field.slice(1)}: ${message}`, hint))
  }
  return findings
}
