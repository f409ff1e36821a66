/**
 * Appends to the query of an address that stays as it is otherwise, byte for byte: it was registered like this. A fragment
 * stays behind the query (RFC 3986 §3): what stands in it is sent to no server.
 */

export const withQuery = (url: string, query: string | URLSearchParams): string => {
  const end = url.includes('#') ? url.indexOf('#') : url.length
  const address = url.slice(0, end)
  return `${address}${address.includes('?') ? '&' : '?'}${query}${url.slice(end)}`
}
