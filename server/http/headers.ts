/**
 * The headers that every response carries, also errors. A route that wants less strict ones (a page, a cached
 * document) overwrites them by name; forgetting to leaves the strict ones in place.
 */

export const securityHeaders = (baseUrl: string): Readonly<Record<string, string>> => ({
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  // Over plain http it is ignored at best (RFC 6797 §8.1), and a laptop would lock itself out at worst.
  ...(baseUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
})

/** What only a document can be told, beside those. */
export const documentHeaders: Readonly<Record<string, string>> = {
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
}
