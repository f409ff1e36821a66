/**
 * The absolute form of a request target, which a server must take although clients send it to proxies alone (RFC 9112 §3.2.2). What
 * follows its authority is the path that routes and the other guards see. The authority must be that of the server or of the header
 * Host: a message that names another server is not for this one (RFC 9110 §7.4), or was put together to be read in two ways.
 */

/** RFC 9110 §4.2.1, §4.2.2: a host that is not empty, and no user information (§4.2.4). */
const absoluteForm =
  /^https?:\/\/((?:\[[\da-f:.]+\]|(?:[a-z\d\-._~!$&'()*+,;=]|%[\da-f]{2})+)(?::\d*)?)(?=[/?]|$)/i

/** The target in origin form; one in any other form, or for other hosts than these, stays as it is, and is no path. */
export const originForm = (target: string, hosts: readonly (string | undefined)[]): string => {
  const [start, authority = ''] = target.startsWith('/') ? [] : (absoluteForm.exec(target) ?? [])
  if (start === undefined) return target
  if (!hosts.some((host) => host?.toLowerCase() === authority.toLowerCase())) return target
  const rest = target.slice(start.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
