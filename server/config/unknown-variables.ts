/**
 * Variables with our prefix that nothing reads. They are reported and not refused: a pipeline sets those of the CLI beside
 * those of the server, and Kubernetes sets its own for a Service named `iamctl`.
 */

const prefix = 'IAMCTL_'

/** Read by the CLI, and by the build for `/monitoring/info`. */
const elsewhere: ReadonlySet<string> = new Set(
  [
    'SERVER',
    'REALM',
    'USERNAME',
    'PASSWORD',
    'TOKEN',
    'CONTEXT',
    'CONFIG',
    'CLIENT_ID',
    'CLIENT_SECRET',
    'CLIENT_SECRET_FILE',
    'AUTH_REALM',
    'SOURCE',
    'DEBUG',
    'OUTPUT',
    'TIMEOUT',
    'QUIET',
    'INSECURE_HTTP',
    'BUILD_TIME',
    'BUILD_COMMIT',
    'TEST_LONG',
  ].map((name) => prefix + name),
)

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
