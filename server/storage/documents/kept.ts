/**
 * Values that follow from configuration, made once. The copy gives the same view object until the realm changes, and the same
 * document object until the document changes: a value that is kept by the object is never older than the configuration,
 * and is collected together with it.
 */

import type { RealmView } from './copy.ts'
import type { StoredDocument } from './document.ts'
import { keptBy } from './kept-by.ts'

/** Concurrent callers share one read. A read that fails is not kept: the next caller reads again. */
export const perView = <T>(
  read: (view: RealmView) => Promise<T>,
): ((view: RealmView) => Promise<T>) => {
  const kept = new WeakMap<RealmView, Promise<T>>()
  return (view) => {
    const before = kept.get(view)
    if (before !== undefined) return before
    const value = read(view)
    kept.set(view, value)
    value.catch(() => kept.delete(view))
    return value
  }
}

export const perDocument: <T extends object | boolean>(
  make: (document: StoredDocument) => T,
) => (document: StoredDocument) => T = keptBy
