/**
 * The built-in documents of every realm. Shared, because files may refer to them and give only their changes: a field
 * that an entry for a built-in document omits has the built-in value.
 */

import englishMessages from '../../templates/messages/en.json' with { type: 'json' }
import { commandLineClient } from '../access/command-line.ts'
import type { Doc } from '../json-schema.ts'
import { type Kind, keyOf } from '../kind.ts'
import { Client } from '../kinds/clients/client.ts'
import { ClientScope } from '../kinds/clients/client-scope.ts'
import { MessageTemplate } from '../kinds/notifications/message-template.ts'
import { Provisioning } from '../kinds/provisioning/provisioning.ts'
import { Settings } from '../kinds/settings.ts'
import { Flow } from '../kinds/sign-in/flow.ts'
import { SubjectClaim } from '../kinds/tokens/subject-claim.ts'
import { Role } from '../kinds/users/role.ts'
import { compact } from '../normalize.ts'

const roles = [
  {
    name: 'admin',
    description: 'Administers the realm.',
    permissions: ['realm-admin'],
  },
  {
    name: 'auditor',
    description: 'Sees clients, users and events.',
    permissions: ['view-clients', 'view-events', 'view-users'],
  },
  { name: 'user', description: 'Everybody.' },
]

const scopes = [
  { name: 'profile', description: 'Your name and profile' },
  { name: 'email', description: 'Your email address' },
  { name: 'roles', description: 'Your roles' },
  { name: 'groups', description: 'Your groups' },
  { name: 'organization', description: 'The organization that you act for' },
  { name: 'account', description: 'See and change your account' },
  { name: 'offline_access', description: 'Access while you are away' },
]

const run = (authenticator: string, requirement = 'REQUIRED') => ({ authenticator, requirement })
const sub = (flowAlias: string, requirement: string) => ({ flowAlias, requirement })

const flows = [
  {
    alias: 'browser-second-factor',
    description: 'A second factor, of users who have one.',
    topLevel: false,
    authenticationExecutions: [
      run('condition-user-has-factor'),
      run('totp', 'ALTERNATIVE'),
      run('webauthn', 'ALTERNATIVE'),
      run('push', 'ALTERNATIVE'),
      run('recovery-code', 'ALTERNATIVE'),
    ],
  },
  {
    alias: 'browser-by-password',
    description: 'A password, and a second factor of users who have one.',
    topLevel: false,
    authenticationExecutions: [
      run('username-password'),
      sub('browser-second-factor', 'CONDITIONAL'),
    ],
  },
  {
    alias: 'browser-after-provider',
    description: 'A second factor, of users who have one, where the identity provider proved one.',
    topLevel: false,
    authenticationExecutions: [
      run('condition-user-has-factor'),
      run('condition-one-factor'),
      run('totp', 'ALTERNATIVE'),
      run('webauthn', 'ALTERNATIVE'),
      run('push', 'ALTERNATIVE'),
      run('recovery-code', 'ALTERNATIVE'),
    ],
  },
  {
    alias: 'browser-by-provider',
    description: 'An identity provider, and a second factor where it proved one only.',
    topLevel: false,
    authenticationExecutions: [
      run('identity-provider'),
      sub('browser-after-provider', 'CONDITIONAL'),
    ],
  },
  {
    alias: 'browser',
    description:
      'Sign-in in a browser: by a password, by a passkey that verifies its user, or through an identity provider.',
    // The password first: its page is shown to every user, and offers the passkey and the identity providers.
    authenticationExecutions: [
      sub('browser-by-password', 'ALTERNATIVE'),
      run('webauthn-passwordless', 'ALTERNATIVE'),
      sub('browser-by-provider', 'ALTERNATIVE'),
    ],
  },
  {
    alias: 'registration',
    description: 'Users who register themselves.',
    authenticationExecutions: [run('register')],
  },
  {
    alias: 'reset-credentials',
    description: 'A forgotten password.',
    authenticationExecutions: [run('identify'), run('email-link'), run('reset-password')],
  },
  {
    alias: 'first-broker-login-password',
    description: 'The password of an account that is to be linked.',
    topLevel: false,
    authenticationExecutions: [run('password'), sub('browser-second-factor', 'CONDITIONAL')],
  },
  {
    alias: 'first-broker-login-mail',
    description: 'A code to the verified address of an account that is to be linked.',
    topLevel: false,
    authenticationExecutions: [run('email-code'), sub('browser-second-factor', 'CONDITIONAL')],
  },
  {
    alias: 'first-broker-login-link',
    description: 'Proof of the account that has the address; the link is made as the sign-in ends.',
    topLevel: false,
    authenticationExecutions: [
      run('broker-confirm-link'),
      sub('first-broker-login-password', 'ALTERNATIVE'),
      run('webauthn-passwordless', 'ALTERNATIVE'),
      sub('first-broker-login-mail', 'ALTERNATIVE'),
    ],
  },
  {
    alias: 'first-broker-login',
    description: 'The first sign-in through an identity provider: links an account, or makes one.',
    authenticationExecutions: [
      run('broker-review-profile'),
      run('broker-link-or-create', 'ALTERNATIVE'),
      sub('first-broker-login-link', 'ALTERNATIVE'),
    ],
  },
]

const sections: readonly (readonly [Kind, readonly Doc[]])[] = [
  [Settings, [{}]],
  [SubjectClaim, [{}]],
  [Provisioning, [{}]],
  [Role, roles],
  [ClientScope, scopes],
  [Client, [commandLineClient]],
  [Flow, flows],
  // English only: other languages are files of the server until a realm has its own (server/messaging/built-in.ts).
  [MessageTemplate, englishMessages.map((template) => ({ locale: 'en', ...template }))],
]

export interface Seed {
  readonly kind: Kind
  readonly key: string
  /** In its compact form. */
  readonly doc: Doc
}

export const seeds: readonly Seed[] = sections.flatMap(([kind, docs]) =>
  docs.map((doc) => ({ kind, key: keyOf(kind, doc), doc: compact(kind, doc) })),
)

const byPlace = new Map(seeds.map((seed) => [`${seed.kind.kind}\n${seed.key}`, seed]))

export const seedOf = (kind: Kind, key: string): Seed | undefined =>
  byPlace.get(`${kind.kind}\n${key}`)
