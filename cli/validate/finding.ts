/** One thing that is wrong or unwise, by its JSON pointer; `validate` gives it a place and the name of its document. */

export interface Finding {
  readonly severity: 'error' | 'warning'
  readonly code: string
  /** Into the realm value. */
  readonly pointer: string
  /** Of a key that should not be there, the key; else the value. */
  readonly at?: 'key' | 'value'
  /** What the message speaks about, where that is not what the pointer names. */
  readonly about?: string
  readonly message: string
  readonly hint?: string
  readonly related?: readonly { readonly message: string; readonly pointer: string }[]
}

export const didYouMean = (word: string | undefined): { readonly hint?: string } =>
  word === undefined ? {} : { hint: `did you mean "${word}"?` }
