/** The addresses of a realm that are registered at a provider. */

import type { Issuer } from '#server/tokens/issuers.ts'

export const brokerUrl = (issuer: Pick<Issuer, 'url'>, alias: string, last: string): string =>
  `${issuer.url}/broker/${encodeURIComponent(alias)}/${last}`
