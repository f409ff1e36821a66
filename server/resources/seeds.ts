/** What every realm is born with (spec part 1, decisions.md), as operations like any other. */

import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { ClientScope } from '#schemas/kinds/client-scope.ts'
import { Flow } from '#schemas/kinds/flow.ts'
import { MessageTemplate } from '#schemas/kinds/message-template.ts'
import { Provisioning } from '#schemas/kinds/provisioning.ts'
import { Role } from '#schemas/kinds/role.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { SubjectClaim } from '#schemas/kinds/subject-claim.ts'
import { compact } from '#schemas/normalize.ts'
import type { Operation } from './operations.ts'

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
      run('recovery-code', 'ALTERNATIVE'),
    ],
  },
  {
    alias: 'browser',
    description: 'Sign-in in a browser.',
    authenticationExecutions: [
      run('username-password'),
      sub('browser-second-factor', 'CONDITIONAL'),
    ],
  },
  {
    alias: 'registration',
    description: 'Users who register themselves.',
    authenticationExecutions: [run('registration-profile'), run('registration-password')],
  },
  {
    alias: 'reset-credentials',
    description: 'A forgotten password.',
    authenticationExecutions: [run('identify'), run('email-link'), run('reset-password')],
  },
  {
    alias: 'first-broker-login',
    description: 'The first sign-in through an identity provider.',
    authenticationExecutions: [run('broker-review-profile'), run('broker-link-or-create')],
  },
]

const templates = [
  {
    templateKey: 'otp-sms',
    channel: 'SMS',
    body: '{{code}} is your code for {{realm}}. It is good for {{ttl}} minutes.',
  },
  {
    templateKey: 'otp-email',
    channel: 'EMAIL',
    subject: 'Your code for {{realm}}',
    body: 'Hello {{user}},\n\nyour code is {{code}}. It is good for {{ttl}} minutes.\n',
  },
  {
    templateKey: 'magic-link-email',
    channel: 'EMAIL',
    subject: 'Sign in to {{realm}}',
    body: 'Hello {{user}},\n\nsign in with this link, within {{ttl}} minutes:\n\n{{link}}\n',
  },
  {
    templateKey: 'mfa-push',
    channel: 'PUSH',
    subject: '{{realm}}',
    body: 'Is it you who is signing in to {{realm}}?',
  },
]

const settings = (displayName?: string) => ({
  ...(displayName === undefined ? {} : { displayName }),
  defaultRole: 'user',
  browserFlow: 'browser',
})

const sections = (displayName?: string): readonly (readonly [Kind, readonly Doc[]])[] => [
  [Settings, [settings(displayName)]],
  [SubjectClaim, [{}]],
  [Provisioning, [{}]],
  [Role, roles],
  [ClientScope, scopes],
  [Flow, flows],
  [MessageTemplate, templates.map((template) => ({ locale: 'en', ...template }))],
]

export const seedOperations = (displayName?: string): Operation[] =>
  sections(displayName).flatMap(([kind, docs]) =>
    docs.map((doc) => ({
      op: 'put' as const,
      kind,
      key: keyOf(kind, doc),
      doc,
      secrets: {},
      expect: { exists: false },
    })),
  )

/** The same in the shape of a realm's YAML, for `GET /admin/realm-defaults`. */
export const realmDefaults = (): Record<string, unknown> =>
  Object.fromEntries(
    sections().map(([kind, docs]) => {
      const values = docs.map((doc) => compact(kind, doc))
      return [kind.section, kind.shape === 'singleton' ? values[0] : values]
    }),
  )
