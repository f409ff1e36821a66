/** Built-in documents that a migration adds or changes, as the tables keep them. */

export interface BuiltIn {
  readonly key: string
  /** Of the content in its compact form. A migration gives the figure, because it holds for its version alone. */
  readonly hash: string
  readonly body: string
}

/** As `revision_operations` keeps a document in `before` and `after`. */
export const keptOf = ({ key, body }: Pick<BuiltIn, 'key' | 'body'>): string =>
  `{"key":"${key}","parentId":null,"origin":"built-in","owner":null,"protected":false,` +
  `"body":${body},"secrets":{}}`

/** The condition for a document that nobody has changed, and that no file declares. */
export const isUnchanged = (kind: string, { key, hash }: Pick<BuiltIn, 'key' | 'hash'>): string =>
  `kind = '${kind}' and key = '${key}' and origin = 'built-in' and owner is null and hash = '${hash}'`
