/**
 * Variables with our prefix that nothing reads. They are reported and not refused: a pipeline sets those of the CLI beside
 * those of the server, and Kubernetes sets its own for a Service named `iamctl`.
 */

const prefix = 'IAMCTL_'

/** Read by the CLI, and by the build for `/monitoring/info`. */
const elsewhere: ReadonlySet<string> = new Set([
  'IAMCTL_SERVER',
  'IAMCTL_REALM',
  'IAMCTL_USERNAME',
  'IAMCTL_PASSWORD',
  'IAMCTL_TOKEN',
  'IAMCTL_CONTEXT',
  'IAMCTL_CONFIG',
  'IAMCTL_CLIENT_ID',
  'IAMCTL_CLIENT_SECRET',
  'IAMCTL_CLIENT_SECRET_FILE',
  'IAMCTL_AUTH_REALM',
  'IAMCTL_SOURCE',
  'IAMCTL_DEBUG',
  'IAMCTL_OUTPUT',
  'IAMCTL_TIMEOUT',
  'IAMCTL_QUIET',
  'IAMCTL_INSECURE_HTTP',
  'IAMCTL_BUILD_TIME',
  'IAMCTL_BUILD_COMMIT',
  'IAMCTL_TEST_LONG',
])

/** `IAMCTL_SERVICE_HOST`, `IAMCTL_PORT_8080_TCP_ADDR` and their like. */
const serviceLink =
  /^IAMCTL_(?:\w+_)?(?:SERVICE_(?:HOST|PORT\w*)|PORT_\d+_(?:TCP|UDP|SCTP)\w*|PORT)$/

export const unknownVariables = (
  env: Readonly<Record<string, string | undefined>>,
  options: ReadonlySet<string>,
): string[] =>
  Object.keys(env)
    .filter(
      (name) =>
        name.startsWith(prefix) &&
        !name.startsWith(`${prefix}VAR_`) &&
        env[name] !== '' &&
        !options.has(name) &&
        !elsewhere.has(name) &&
        !serviceLink.test(name),
    )
    .sort()
