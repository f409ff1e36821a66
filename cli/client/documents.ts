/** Calls on single documents, the same for every kind. */

import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { pathOfList, pathOfOne } from './document-paths.ts'
import type { Call } from './http/call.ts'

export interface Listed {
  /** Its natural key, where its own fields and its parent tell it. */
  readonly key: string
  readonly doc: Doc
}

export interface DocumentCalls {
  /** All documents of a kind; of a child those of one parent, or of all. */
  list(realm: string, kind: Kind, parentKey?: string): Promise<readonly Listed[]>
  /** By natural key or id. */
  get(realm: string, kind: Kind, key: string): Promise<Doc>
  remove(realm: string, kind: Kind, key: string): Promise<void>
}

/** The paths of a tree: a document names its parent by id. */
const treePaths = (kind: Kind, docs: readonly Doc[]): Listed[] => {
  const byId = new Map(docs.map((doc) => [doc[kind.pathKey], doc]))
  const pathOf = (doc: Doc, depth = 0): string => {
    const parent = byId.get(doc['parentId'])
    // A circle cannot be stored; an answer that holds one must not hang the program.
    return keyOf(kind, doc, parent && depth < 100 ? pathOf(parent, depth + 1) : undefined)
  }
  return docs.map((doc) => ({ key: pathOf(doc), doc }))
}

export const documentCalls = (call: Call): DocumentCalls => {
  const listBelow = async (
    realm: string,
    kind: Kind,
    parentKey?: string,
  ): Promise<readonly Listed[]> => {
    const { body } = await call<Doc[]>('GET', pathOfList(realm, kind, parentKey))
    if (kind.shape === 'tree') return treePaths(kind, body)
    return body.map((doc) => ({ key: keyOf(kind, doc, parentKey), doc }))
  }

  const list: DocumentCalls['list'] = async (realm, kind, parentKey) => {
    if (kind.shape === 'singleton') {
      const { body } = await call<Doc>('GET', pathOfOne(realm, kind, kind.kind))
      return [{ key: kind.kind, doc: body }]
    }
    if (kind.shape !== 'child' || kind.parentKind === null || parentKey !== undefined)
      return listBelow(realm, kind, parentKey)
    // Most commands need no kind, and loading all of them takes as long as Node.js itself.
    const { kindNamed } = await import('#schemas/registry.ts')
    const parents = await list(realm, kindNamed(kind.parentKind))
    const lists: (readonly Listed[])[] = []
    for (const { key } of parents) lists.push(await listBelow(realm, kind, key))
    return lists.flat()
  }

  return {
    list,
    async get(realm, kind, key) {
      return (await call<Doc>('GET', pathOfOne(realm, kind, key))).body
    },
    async remove(realm, kind, key) {
      await call('DELETE', pathOfOne(realm, kind, key))
    },
  }
}
