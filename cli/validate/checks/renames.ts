/** `renamedFrom`: the old key is another one, gone from the files or passed on, and claimed once. */

import { changingPlaces, placesOf } from '../../planning/renames/circles.ts'
import type { Finding } from '../finding.ts'
import type { Declared, Model } from '../model.ts'

const wrong = (code: string, { pointer }: Declared, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  pointer: `${pointer}/renamedFrom`,
  message,
  hint,
})

export const checkRenames = (model: Model): Finding[] => {
  const renamed = model.declared.filter(({ entry }) => entry.renamedFrom !== null)
  if (renamed.length === 0) return []
  const findings: Finding[] = []
  const claimed = new Map<string, Declared>()
  const present = new Map<string, Declared>()
  for (const document of model.declared)
    present.set(`${document.kind.kind}\n${document.key}`, document)
  const pointerOf = new Map(renamed.map(({ entry, pointer }) => [entry, `${pointer}/renamedFrom`]))
  const circling = changingPlaces(
    renamed.map(({ entry }) => entry).filter(({ key, renamedFrom }) => renamedFrom !== key),
  )
  for (const document of renamed) {
    const { kind, key, entry } = document
    const from = entry.renamedFrom
    if (from === null) continue
    const place = `${kind.kind}\n${from}`
    const other = claimed.get(place)
    const declared = present.get(place)
    const circle = circling.get(entry)
    if (from === key)
      findings.push(
        wrong('rename-same', document, 'is the name that it has now', 'take renamedFrom out'),
      )
    else if (kind.shape === 'tree' && key.startsWith(`${from}/`))
      findings.push(
        wrong(
          'cycle',
          document,
          'it would be below itself',
          'move it out of the document that it is renamed from',
        ),
      )
    else if (circle !== undefined) {
      const { message, hint } = placesOf(circle)
      findings.push({
        ...wrong('rename-cycle', document, message, hint),
        related: circle
          .filter((one) => one !== entry)
          .map((one) => ({ message: 'renamed here too', pointer: pointerOf.get(one) ?? '' })),
      })
    }
    // Of a chain of renames, each name is free when its turn comes.
    else if (declared !== undefined && declared.entry.renamedFrom === null)
      findings.push({
        ...wrong(
          'rename-declared',
          document,
          `${kind.kind} "${from}" is declared too, so it cannot get another name`,
          'take renamedFrom out, or the other entry',
        ),
        related: [{ message: 'declared here', pointer: declared.pointer }],
      })
    else if (other !== undefined)
      findings.push({
        ...wrong(
          'rename-twice',
          document,
          `${kind.kind} "${from}" gets two new names`,
          'keep one of them',
        ),
        related: [{ message: 'the other one', pointer: `${other.pointer}/renamedFrom` }],
      })
    else claimed.set(place, document)
  }
  return findings
}
