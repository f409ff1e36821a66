/** Bodies that would raise the permissions of the caller, by method and path below the realm. */

import { guess, type Scene, secret } from './scene.ts'

const step = (authenticator: string) => ({ authenticator, requirement: 'REQUIRED' })
const byMail = (alias: string, ...steps: readonly string[]) => ({
  alias,
  authenticationExecutions: ['identify', ...steps].map(step),
})
const flows = [
  byMail('browser', 'email-link'),
  byMail('browser', 'email-code'),
  byMail('browser', 'email-link', 'totp'),
  byMail('reset-credentials', 'email-code', 'reset-password'),
  byMail('reset-credentials', 'reset-password'),
]

const phc = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

export const hostileBodies = (
  scene: Scene,
  baseRevision: number,
): Readonly<Record<string, readonly unknown[]>> => {
  const { boss, ids, world, realm } = scene
  const audience = `${world.server.baseUrl}/admin`
  const provider = {
    channel: 'EMAIL',
    driver: 'smtp',
    fromAddress: `iam@${realm}.example`,
    config: { host: 'localhost', port: world.mail.port, ca: world.mail.ca },
  }
  const template = { channel: 'EMAIL', locale: 'en', subject: 'Hello', body: 'Open {{link}}' }
  const own = {
    grantTypes: ['client_credentials', 'password', 'token-exchange', 'CIBA', 'device'],
    serviceAccountsEnabled: true,
    audiences: [audience],
    scopes: ['account', 'offline_access'],
  }
  const client = { ...own, secret }
  const settings = [
    { resetPasswordAllowed: true, registrationAllowed: true, verifyEmail: false },
    { bruteForceProtected: false, passwordPolicy: { length: 6, breachCheck: false } },
    { defaultRole: 'admin' },
    { browserFlow: 'reset-credentials' },
  ]
  const put = (kind: string, key: string, doc: object, secrets?: object) => ({
    baseRevision,
    allowUnrelated: true,
    source: 'attack',
    takeOver: true,
    operations: [{ op: 'put', kind, key, doc, ...(secrets ? { secrets } : {}) }],
  })
  const mapper = (name: string, value: string) => ({
    name: `m-${name}`,
    protocolMapper: 'hardcoded-claim',
    config: { 'claim.name': name, 'claim.value': value, 'access.token.claim': 'true' },
  })
  return {
    'PUT /settings': settings,
    'PUT /subject-claim': [{ strategy: 'username' }, { strategy: 'email' }],
    'PUT /messaging/providers': [provider],
    'PUT /messaging/templates': [
      { ...template, templateKey: 'reset-password' },
      { ...template, templateKey: 'magic-link-email' },
    ],
    'POST /flows': [byMail('mine', 'email-link')],
    'PUT /flows/{id}': flows,
    'POST /clients': [
      { ...client, clientId: 'mine', redirectUris: ['https://attacker.example/cb'] },
    ],
    'PUT /clients/{id}': [{ ...client, clientId: 'pipeline' }],
    'POST /clients/{clientId}/secret': [{}, { secret }],
    'POST /clients/{clientId}/service-account/roles': [{ name: 'admin' }],
    'POST /clients/{parent}/mappers': [mapper('sub', boss.id), mapper('may_act', boss.id)],
    'POST /roles': [{ name: 'above', composites: ['admin'] }],
    'PUT /roles/{id}': [
      { name: 'admin', composites: [] },
      { name: 'user', composites: ['admin'] },
    ],
    'POST /groups': [{ name: 'Below', parentId: ids.admins }],
    'PUT /groups/{id}': [{ name: 'Moved', parentId: ids.admins }],
    'POST /organizations': [
      { alias: 'theirs', name: 'Theirs', domains: [{ name: `${realm}.example`, verified: true }] },
    ],
    'POST /organizations/{orgId}/invitations': [{ email: boss.email }],
    'POST /users': [{ username: `${boss.email}.`, email: boss.email }],
    'PUT /users/{userId}': [{ username: 'boss', email: 'attacker@evil.example' }],
    'PUT /users/{userId}/password': [{ newPassword: guess }],
    'POST /users/{userId}/credentials': [{ type: 'password', value: guess }, { type: 'otp' }],
    'PUT /users/{userId}/required-actions': [['UPDATE_PASSWORD'], ['CONFIGURE_TOTP']],
    'POST /users/{userId}/roles': [{ name: 'admin' }],
    'POST /users/import': [
      {
        ifResourceExists: 'OVERWRITE',
        users: [{ username: 'boss', credentials: [{ type: 'password', value: phc }] }],
      },
    ],
    'POST /messaging/push-tokens': [
      {
        userId: boss.id,
        deviceId: 'mine',
        platform: 'ios',
        driver: 'apns',
        token: 'x'.repeat(32),
      },
    ],
    'POST /changesets': [
      ...settings.map((doc) => put('settings', 'settings', doc)),
      ...flows.map((flow) => put('flow', flow.alias, flow)),
      put('messaging-provider', 'EMAIL/smtp', provider),
      put('role', 'above', { name: 'above', composites: ['admin'] }),
      put('role', 'above', { name: 'above', permissions: ['realm-admin'] }),
      put('group', '/Above', { name: 'Above', roles: ['admin'] }),
      ...['mine', 'pipeline'].flatMap((clientId) => [
        put('client', clientId, { ...own, clientId, serviceAccountRoles: ['admin'] }),
        put('client', clientId, { ...own, clientId }, { '/secret': secret }),
      ]),
      put('user', 'boss', { username: 'boss', roles: [] }),
      put(
        'user',
        'minion',
        { username: 'minion', roles: ['admin'] },
        { '/initialPassword': guess },
      ),
    ],
  }
}
