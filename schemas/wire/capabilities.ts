/**
 * Capabilities of a server for the CLI, by name: `/monitoring/info` lists them, and a CLI of another version checks the
 * list. A name is added with its feature, and never removed or given another meaning.
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
