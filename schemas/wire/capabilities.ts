/**
 * What a server can do for the CLI, by name: it tells its list at `/monitoring/info`, and a CLI of another version sees what
 * it can count on. A word is added with what it names, and never taken away or given another meaning.
 */

export const capabilities = [
  'changesets',
  'changesets-as-lines',
  'compare',
  'export',
  'export-history',
  'idempotency-keys',
  'import',
  'revisions',
  'rollback',
  'service-account-tokens',
] as const

export type Capability = (typeof capabilities)[number]

/** Carried by every answer of the admin API: the version of the server. */
export const versionHeader = 'iamctl-version'
