/** References must lead to a document of the files or one that every realm has; others may still be on the server. */

import { type Kind, nameInKey, parentKeyOf } from '#schemas/kind.ts'
import { implicitHint } from '#schemas/realm/implicit-references.ts'
import { kindNamed } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { type Reference, referencesOf } from '#schemas/walk.ts'
import { didYouMean, type Finding } from '../finding.ts'
import type { Declared, Model } from '../model.ts'

/** Whether the files would hold the document if there were one: the list it belongs into is there. */
const isListed = (model: Model, kind: Kind, key: string): boolean => {
  const above = parentKeyOf(kind, key)
  if (model.lists(kind, above)) return true
  if (above === null || kind.parentKind === null || model.has(kind.parentKind, above)) return false
  return isListed(model, kindNamed(kind.parentKind), above)
}

const nameOf = ({ sibling, key }: Reference): string => (sibling ? nameInKey(key) : key)

/** The form of the keys of a kind that stands below others; a key of another form is not on any server. */
const formOf = ({ shape, parentKind }: Kind): { test: RegExp; words: string } | undefined => {
  if (shape === 'tree') return { test: /^(?:\/[^/]+)+$/, words: '/NAME, or /NAME/NAME below it' }
  return parentKind === null
    ? undefined
    : { test: /^.+\/[^/]+$/s, words: `${parentKind.toUpperCase()}/NAME` }
}

/** Why no document has that key. */
const impossible = (model: Model, { kind, key }: Reference): { hint: string } | undefined => {
  const form = formOf(kindNamed(kind))
  if (form === undefined || form.test.test(key)) return undefined
  const meant =
    model.keysOf(kind).find((other) => other.endsWith(`/${key}`)) ??
    nearest(key, model.keysOf(kind))
  return { hint: didYouMean(meant).hint ?? `write ${form.words}` }
}

const hintFor = (model: Model, reference: Reference): { readonly hint?: string } => {
  const { kind, key, sibling } = reference
  const renamed = model.renamed(kind, key)
  if (renamed !== undefined) return { hint: `it is renamed to "${renamed}" here` }
  if (!sibling) return didYouMean(nearest(key, model.keysOf(kind)))
  const family = key.slice(0, key.lastIndexOf('/') + 1)
  const names = model
    .keysOf(kind)
    .flatMap((other) => (other.startsWith(family) ? [nameInKey(other)] : []))
  return didYouMean(nearest(nameOf(reference), names))
}

interface Place {
  readonly pointer: string
  readonly about: string
}

interface Unchecked {
  readonly place: Place
  readonly reference: Reference
  /** Whether the list it belongs into is in the files. */
  readonly listed: boolean
  count: number
}

/** Also for a default value, which has no position: then the position of the document is used. */
const placeOf = ({ pointer, doc }: Declared, reference: Reference): Place => {
  const [field = ''] = reference.pointer.slice(1).split('/')
  const about = `${pointer}${reference.pointer}`
  return { pointer: field in doc ? about : pointer, about }
}

/** The other estates that may declare documents of the realm: a list may be longer than it seems here. */
export interface More {
  /** Other files of the estate, which were not named. */
  readonly files: boolean
  readonly estates: boolean
}

/** Why a reference is not followed here, and what was probably meant. */
const whyUnchecked = (more: More, isListed: boolean, meant: string | undefined): string => {
  const why = !isListed
    ? 'the files do not hold the list it belongs into, so it cannot be checked here'
    : more.files
      ? 'other files of the estate may declare it; without paths, all of them are checked together'
      : 'the files do not declare it, so another estate must'
  return meant === undefined ? why : `${meant} ${why}`
}

export const checkReferences = (model: Model, more: More): Finding[] => {
  const findings: Finding[] = []
  const unchecked = new Map<string, Unchecked>()
  const hints = new Map<string, { readonly hint?: string }>()
  for (const document of model.declared) {
    for (const reference of referencesOf(document.kind, document.doc, document.key)) {
      if (model.has(reference.kind, reference.key)) continue
      const target = `${reference.kind}\n${reference.key}`
      const place = placeOf(document, reference)
      const listed = isListed(model, kindNamed(reference.kind), reference.key)
      const never = impossible(model, reference)
      if (never === undefined && (more.files || more.estates || !listed)) {
        const known = unchecked.get(target)
        if (known === undefined) unchecked.set(target, { place, reference, listed, count: 1 })
        else known.count += 1
        continue
      }
      const implicit = implicitHint(reference.kind, reference.key)
      const hint = implicit
        ? { hint: implicit }
        : (never ?? hints.get(target) ?? hintFor(model, reference))
      hints.set(target, hint)
      findings.push({
        severity: 'error',
        code: 'missing-reference',
        ...place,
        message: `there is no ${reference.kind} "${nameOf(reference)}"`,
        ...hint,
      })
    }
  }
  for (const { place, reference, listed, count } of unchecked.values())
    findings.push({
      severity: 'warning',
      code: 'unchecked-reference',
      ...place,
      message: `the ${reference.kind} "${nameOf(reference)}" must exist on the server${count === 1 ? '' : ` (${count} references)`}`,
      hint:
        implicitHint(reference.kind, reference.key) ??
        whyUnchecked(more, listed, listed ? hintFor(model, reference).hint : undefined),
    })
  return findings
}
