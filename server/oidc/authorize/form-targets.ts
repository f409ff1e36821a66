/**
 * What the policy of a page must let its form lead to. Browsers hold every redirect that follows a form to
 * `form-action`, also those of the client once the answer is there: all of its scheme, or sign-in would end nowhere
 * with clients that go on to another host.
 */
export const formTargets = (redirectUri: string): readonly string[] => {
  const scheme = redirectUri.slice(0, redirectUri.indexOf(':') + 1).toLowerCase()
  return scheme === 'http:' ? ['http:', 'https:'] : [scheme]
}
