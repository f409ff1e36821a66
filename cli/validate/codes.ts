/** Every code that `validate` gives to what it finds in a realm; stable, and the list that help and README print. */

import { weakChoices } from './weak-choices.ts'

export interface Code {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly meaning: string
}

const error = (code: string, meaning: string): Code => ({ code, severity: 'error', meaning })
const warning = (code: string, meaning: string): Code => ({ code, severity: 'warning', meaning })

const ofSchemas: readonly Code[] = [
  error('unknown-field', 'there is no such field or section'),
  error('required', 'a field is missing'),
  error('type', 'a value is of another type'),
  error('enum', 'a value is none of those that exist'),
  error('format', 'a value has another form, such as a redirect URI with a wildcard'),
  error('pattern', 'a value does not match the pattern of its field'),
  error('minLength', 'a text is too short'),
  error('maxLength', 'a text is too long'),
  error('minimum', 'a number is too small'),
  error('maximum', 'a number is too large'),
  error('maxItems', 'a list is too long'),
  error('uniqueItems', 'a list holds something twice'),
]

const ofRules: readonly Code[] = [
  error('public-client', 'what a public client cannot do or have, or only it may'),
  error('keys-missing', 'a client authenticates with keys that it does not have'),
  error('private-key', 'a private key stands where a public one belongs'),
  error('secret-storage', 'a client needs its secret back, and the realm keeps hashes'),
  error('exclusive', 'one of two fields is needed, and not both'),
  error('range', 'two limits contradict each other'),
  error('cycle', 'something would contain itself'),
  error('sub-flow', 'the sign-in flow is one that only runs inside others'),
  error('unknown-authenticator', 'a flow names no authenticator'),
]

const ofRealms: readonly Code[] = [
  error('missing-reference', 'something is named that the files and a new realm do not have'),
  error('duplicate', 'two users have one name or address'),
  error('rename-same', 'something is renamed from the name that it has'),
  error('rename-twice', 'one document gets two new names'),
  error('rename-declared', 'something is renamed from what is declared too'),
  warning('unchecked-reference', 'something is named whose list is not in the files'),
  warning('literal-secret', 'a secret stands in a file'),
]

const ofWeakChoices = new Map(
  weakChoices.map(({ code, meaning }) => [code, warning(code, meaning)] as const),
)

export const codes: readonly Code[] = [
  ...ofSchemas,
  ...ofRules,
  ...ofRealms,
  ...ofWeakChoices.values(),
]
