/** The catalogue of audit event types. Nothing emits a name outside it; webhooks subscribe to its names. */

export const eventTypes = {
  LOGIN_SUCCESS: 'AUTHN',
  LOGIN_FAILURE: 'AUTHN',
  LOGOUT: 'AUTHN',
  REGISTER: 'AUTHN',
  VERIFY_EMAIL: 'AUTHN',
  UPDATE_PROFILE: 'AUTHN',
  ACCEPT_TERMS: 'AUTHN',
  JOIN_ORGANIZATION: 'AUTHN',
  SEND_MESSAGE: 'AUTHN',
  MFA_CHALLENGE: 'AUTHN',
  MFA_SUCCESS: 'AUTHN',
  MFA_FAILURE: 'AUTHN',
  CODE_TO_TOKEN: 'AUTHN',
  REFRESH_TOKEN: 'AUTHN',
  REFRESH_TOKEN_REUSE: 'SECURITY',
  CLIENT_LOGIN: 'AUTHN',
  TOKEN_EXCHANGE: 'AUTHN',
  WORKLOAD_TOKEN: 'AUTHN',
  DELEGATION_TOKEN: 'AUTHN',
  INTROSPECT_TOKEN: 'AUTHN',
  PERMISSION_TOKEN: 'AUTHN',
  PERMISSION_REQUEST: 'AUTHN',
  PERMISSION_DECISION: 'AUTHN',
  CLIENT_REGISTER: 'ADMIN',
  CLIENT_UPDATE: 'ADMIN',
  CLIENT_DELETE: 'ADMIN',
  SAML_SSO: 'AUTHN',
  SAML_METADATA_REFRESH: 'ADMIN',
  GRANT_CONSENT: 'AUTHN',
  REVOKE_GRANT: 'AUTHN',
  CREATE_TRANSACTION: 'AUTHN',
  SIGN_TRANSACTION: 'AUTHN',
  CONSUME_TRANSACTION: 'AUTHN',
  IDENTITY_PROVIDER_LOGIN: 'AUTHN',
  IDENTITY_PROVIDER_FIRST_LOGIN: 'AUTHN',
  IDENTITY_PROVIDER_LINK: 'AUTHN',
  IDENTITY_PROVIDER_UNLINK: 'AUTHN',
  UPDATE_CREDENTIAL: 'SECURITY',
  REMOVE_CREDENTIAL: 'SECURITY',
  RESET_PASSWORD: 'SECURITY',
  UPDATE_EMAIL: 'SECURITY',
  NEW_DEVICE: 'SECURITY',
  IMPERSONATE: 'SECURITY',
  USER_LOCKED: 'SECURITY',
  USER_UNLOCKED: 'SECURITY',
  ERASURE_REQUESTED: 'SECURITY',
  USER_ERASED: 'SECURITY',
  DATA_EXPORT: 'SECURITY',
  KEY_ROTATED: 'SECURITY',
  WEBHOOK_DISABLED: 'SECURITY',
  AGENT_ACTIVATED: 'ADMIN',
  AGENT_SUSPENDED: 'ADMIN',
  AGENT_REVOKED: 'ADMIN',
  ADMIN_CREATE: 'ADMIN',
  ADMIN_UPDATE: 'ADMIN',
  ADMIN_DELETE: 'ADMIN',
  ADMIN_ACTION: 'ADMIN',
} as const

export type EventType = keyof typeof eventTypes
export type EventCategory = (typeof eventTypes)[EventType]

export const categories: readonly EventCategory[] = ['AUTHN', 'ADMIN', 'SECURITY']

const names = Object.keys(eventTypes)

/** Whether a subscription's pattern can match anything: a name, `*`, or a prefix such as `ADMIN_*`. */
export const isEventPattern = (pattern: string): boolean =>
  pattern.endsWith('*')
    ? names.some((name) => name.startsWith(pattern.slice(0, -1)))
    : names.includes(pattern)
