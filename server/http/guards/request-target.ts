/**
 * The absolute form of a request target, which a server must take although clients send it to proxies alone (RFC 9112 §3.2.2). What
 * follows its authority is the path that routes and the other guards see. The authority itself decides nothing: addresses of the
 * server come from its configuration.
 */

/** RFC 9110 §4.2.1, §4.2.2: a host that is not empty, and no user information (§4.2.4). */
const absoluteForm =
  /^https?:\/\/(?:\[[\da-f:.]+\]|(?:[a-z\d\-._~!$&'()*+,;=]|%[\da-f]{2})+)(?::\d*)?(?=[/?]|$)/i

/** The target in origin form; one in any other form stays as it is, and is no path. */
export const originForm = (target: string): string => {
  if (target.startsWith('/')) return target
  const rest = target.replace(absoluteForm, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}
