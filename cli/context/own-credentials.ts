/**
 * The variables that hold credentials of the program itself. A realm file, which a pull request can change, cannot refer to
 * them, and programs that read files of the estate (sops, git) do not get them.
 */

const names: ReadonlySet<string> = new Set([
  'IAMCTL_TOKEN',
  'IAMCTL_PASSWORD',
  'IAMCTL_CLIENT_SECRET',
  'IAMCTL_ID_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'IAMCTL_MASTER_KEY',
  'IAMCTL_DATABASE_URL',
  'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD',
])

export const isOwnCredential = (name: string): boolean => names.has(name)

export const withoutOwnCredentials = (
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isOwnCredential(name)))
