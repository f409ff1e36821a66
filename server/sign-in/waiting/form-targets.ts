/**
 * The `form-action` of a page. Browsers apply it to every redirect after a form, also to those of the client: all
 * addresses of its scheme are allowed, or sign-in would fail for clients that redirect to another host.
 */
export const formTargets = (address: string): readonly string[] => {
  const scheme = address.slice(0, address.indexOf(':') + 1).toLowerCase()
  return scheme === 'http:' ? ['http:', 'https:'] : [scheme]
}
