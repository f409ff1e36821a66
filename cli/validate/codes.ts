/** Every code that reading and checking realm files gives to what it finds; stable, and the list that `--codes` prints. */

import { weakChoices } from './checks/weak-choices/index.ts'

export interface Code {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly meaning: string
}

const error = (code: string, meaning: string): Code => ({ code, severity: 'error', meaning })
const warning = (code: string, meaning: string): Code => ({ code, severity: 'warning', meaning })

const ofFiles: readonly Code[] = [
  error('file-missing', 'a file or folder that is named does not exist'),
  error('file-unreadable', 'a file cannot be read'),
  error('file-encoding', 'a file is not UTF-8'),
  error('file-too-large', 'a file is larger than 64 MiB'),
  error('file-outside', 'a link or path leads out of the estate'),
  error('file-is-no-realm', 'a saved plan or a file of generated secrets is named as a realm file'),
  warning(
    'file-skipped',
    'a saved plan or a file of generated secrets lies beside realm files and is skipped',
  ),
  error('estate-file', 'iamctl.yaml cannot be read'),
  error('estate-document', 'iamctl.yaml is not one map'),
  error('estate-context', 'iamctl.yaml names no context that it has'),
  error('estate-several', 'the paths of a plan belong to several estates'),
  error('estate-is-no-realm', 'iamctl.yaml is named as if it held a realm'),
  error('yaml-syntax', 'a file is not YAML'),
  error('yaml-tab', 'a tab is used for indentation'),
  error('yaml-duplicate-key', 'a map has a key twice'),
  error('yaml-key', 'a key is not text'),
  error('yaml-tag', 'a tag has no meaning here'),
  error('yaml-number', 'a number cannot be kept exactly'),
  error('yaml-merge', 'something else than a map is merged'),
  error('yaml-alias-unknown', 'an alias repeats nothing'),
  error('yaml-alias-recursive', 'an alias is inside the node that it refers to'),
  error('yaml-alias-bomb', 'aliases repeat too much'),
  error('realm-document', 'a document is not a map'),
  error('realm-missing', 'a document does not say which realm it is part of'),
  error('realm-of-keycloak', 'a document is a realm of Keycloak'),
  warning('file-without-realm', 'the files contain no realm'),
  error('realm-name', 'the name of a realm is not text'),
  error('realm-name-case', 'the names of two realms differ in case alone'),
  warning('realm-name-form', 'the name of a realm has upper case, "." or "_"'),
  error('duplicate-entry', 'something is declared in two places'),
  error('duplicate-field', 'a field is given in two files'),
  error('duplicate-section', 'a section is given in two files in different shapes'),
  warning('overlay-realm', 'an overlay is for a realm that the files do not have'),
  error('overlay-remove', 'an overlay removes in a way that it cannot'),
  error(
    'overlay-add',
    'an entry of an overlay is added that is there, or "add" is not true or false',
  ),
  error(
    'overlay-unknown',
    'an entry of an overlay fits none of the files, and does not say add: true',
  ),
  error('overlay-remove-missing', 'an overlay removes an entry that does not exist'),
  error('variable-unknown', 'a variable has no value'),
  error('variable-name', 'a variable has a name that it cannot have'),
  error('variable-value', 'a variable has a value that it cannot have'),
  error('variable-file', 'a file of variables cannot be used'),
  error('variable-flag', '--var is not NAME=value'),
  warning('variable-unused', 'a variable that is given is never used'),
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is what people write
  error('reference-unknown', 'a ${…} that does not exist'),
  error('reference-in-key', 'a ${…} in a key'),
  error('reference-not-secret', 'a ${env:…}, ${sops:…} or ${exec:…} in a field that is no secret'),
  error('reference-file', 'a ${file:…} that cannot be read'),
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is what people write
  error('secret-mixed', 'a secret is not one reference alone'),
]

/** Only plan and apply ask for the values of secrets. */
const ofSecrets: readonly Code[] = [
  error('secret-env', 'the variable of a secret is not set'),
  error('secret-env-own', 'a secret refers to a credential of iamctl itself'),
  error('secret-file', 'the file of a secret cannot be read'),
  error('secret-sops', 'sops cannot open the file of a secret, or the key is not in it'),
  error('secret-exec', 'the command of a secret fails'),
  error('secret-exec-refused', 'the command of a secret is not run without --allow-exec'),
  error('secret-empty', 'a secret is empty'),
  error('secret-literal', 'a secret of a saved plan is no longer in its file'),
]

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
  error('minItems', 'a list is too short'),
  error('maxItems', 'a list is too long'),
  error('uniqueItems', 'a list holds something twice'),
]

const ofRules: readonly Code[] = [
  error('public-client', 'what a public client cannot do or have, or only it may'),
  error('keys-missing', 'a client authenticates with keys that it does not have'),
  error('private-key', 'a private key is given instead of a public key'),
  error('unusable-key', 'a key cannot be read, or is weak'),
  error('profile', 'a client contradicts its profile'),
  error('secret-storage', 'a client needs its secret back, and the realm keeps hashes'),
  error('exclusive', 'one of two fields is needed, and not both'),
  error('range', 'two limits contradict each other'),
  error('cycle', 'something would contain itself'),
  error('depth', 'policies or flows contain each other too deep'),
  error('too-many', 'a flow that users sign in by has too many executions'),
  error('sub-flow', 'the sign-in flow is one that only runs inside others'),
  error('unknown-authenticator', 'a flow names no authenticator'),
  error('first-login-only', 'a flow names a step that only a firstLoginFlow runs'),
  error('sign-in-only', 'a flow of an identity provider names an identity provider'),
  error('user-not-identified', 'a flow uses an authenticator before the user is identified'),
  error('no-proof', 'users would come through a flow without proving who they are'),
  error('proof-first', 'a flow enrols a factor, or reveals data of a user, before authentication'),
  error(
    'scope-not-allowed',
    'a workload credential asks for a scope that its client does not have',
  ),
]

const ofRealms: readonly Code[] = [
  error('missing-reference', 'something is named that the files and a new realm do not have'),
  error('duplicate', 'two users have one name or address'),
  error('taken', 'two workload credentials accept one JWT'),
  error('file-text', 'text holds a NUL character or half a surrogate pair'),
  error('realm-users', 'more users are declared than a realm can manage'),
  error('rename-same', 'something is renamed from the name that it has'),
  error('rename-twice', 'one document gets two new names'),
  error('rename-cycle', 'names change places, which needs two applies'),
  error('rename-declared', 'a document is renamed from a key that the files declare too'),
  warning('unchecked-reference', 'something is named whose list is not in the files'),
  warning('literal-secret', 'a secret is written in a file'),
  warning('unreached-provider', 'the sign-in flow has no step for identity providers'),
]

const ofWeakChoices = new Map(
  weakChoices.map(({ code, meaning }) => [code, warning(code, meaning)] as const),
)

export const codes: readonly Code[] = [
  ...ofFiles,
  ...ofSecrets,
  ...ofSchemas,
  ...ofRules,
  ...ofRealms,
  ...ofWeakChoices.values(),
]
