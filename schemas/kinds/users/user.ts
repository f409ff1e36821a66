import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { attributes, fields, flag, oneOf, ref, secret, setOf, text } from '../../marks.ts'

/** Keycloak's names, so that its users can move here. */
export const requiredActions = [
  'VERIFY_EMAIL',
  'UPDATE_PROFILE',
  'CONFIGURE_TOTP',
  'CONFIGURE_RECOVERY_AUTHN_CODES',
  'UPDATE_PASSWORD',
  'TERMS_AND_CONDITIONS',
  'VERIFY_PROFILE',
  'UPDATE_EMAIL',
  'webauthn-register',
] as const

const membership = { needs: 'manage-organizations', needsToRemove: true } as const

const spec = fields({
  username: Type.String({ minLength: 1, maxLength: 255, format: 'username' }),
  email: text('Address; unique in the realm.', { format: 'email', maxLength: 320 }),
  emailVerified: flag(false, 'Whether the address is known to be theirs.'),
  firstName: text('Given name.', { maxLength: 255 }),
  lastName: text('Family name.', { maxLength: 255 }),
  enabled: flag(true, 'Whether they may sign in.'),
  attributes: attributes('Free-form values.'),
  requiredActions: setOf(oneOf(requiredActions), {
    description: 'What they must do at the next sign-in.',
  }),
  roles: setOf(ref('role', { onDelete: 'detach', grants: true }), {
    description: 'Realm roles they hold directly.',
  }),
  clientRoles: setOf(ref('client-role', { onDelete: 'detach', grants: true }), {
    description: 'Client roles they hold directly, as client/role.',
  }),
  // Members are part of a group or an organization: the actions for them ask for its permission.
  groups: setOf(ref('group', { onDelete: 'detach', grants: true, ...membership }), {
    description: 'Groups they are in, as /path.',
  }),
  organizations: setOf(ref('organization', { onDelete: 'detach', ...membership }), {
    description: 'Organizations they are members of.',
  }),
  initialPassword: secret({
    store: 'initial',
    read: 'absent',
    description: 'Set when the user is created and never again.',
  }),
  passwordHash: secret({
    store: 'verify',
    read: 'absent',
    format: 'password-hash',
    description:
      'Hash by Argon2 (PHC), bcrypt, PBKDF2 or scrypt; set when it changes here, not when the user changes it.',
  }),
})

export type UserDoc = Static<typeof spec>

/** More belong into a directory, SCIM or an import: they are data, not configuration (docs/decisions/managed-users.md). */
export const mostManagedUsers = 20_000

export const tooManyUsers =
  `a realm has at most ${mostManagedUsers} managed users: bring the others in with \`iamctl users import\`, ` +
  'SCIM or a directory'

/**
 * The declared fields of a managed user. The document is the truth for them; the users table, which holds
 * everybody, is kept equal to it in the same transaction. Its REST routes serve all users and are written by hand.
 */
export const User = defineKind({
  kind: 'user',
  shape: 'collection',
  section: 'users',
  path: null,
  pathKey: 'userId',
  key: 'username',
  permission: { read: 'view-users', write: 'manage-users' },
  prune: 'allowed',
  doc: 'A managed user: the fields given here are kept equal to the file. At most 20,000 a realm.',
  spec,
})
