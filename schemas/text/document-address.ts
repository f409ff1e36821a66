/**
 * A client_id that is the address of a client metadata document (draft-ietf-oauth-client-id-metadata-document-02 §3): https
 * with a path, in one spelling only, so that two names can never stand for one document.
 */

/** As long as the natural key of a client may be. */
const longest = 255

export const documentAddress = (clientId: string): URL | undefined => {
  if (!clientId.startsWith('https://') || clientId.length > longest) return undefined
  const url = URL.parse(clientId)
  if (url === null || url.href !== clientId) return undefined
  const { username, password, hash, pathname } = url
  const isPlain = username === '' && password === '' && hash === '' && !clientId.includes('#')
  return isPlain && pathname !== '/' ? url : undefined
}
