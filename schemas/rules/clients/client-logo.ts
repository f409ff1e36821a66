/**
 * The logo of a client. The browser of each user who is asked for consent fetches it, so a third host must not serve it: it is
 * at a host of a redirect URI, or part of the document (docs/decisions/consent-page.md).
 */

import type { ClientDoc } from '../../kinds/clients/client.ts'
import type { FieldError } from '../../problems.ts'

type LogoOwner = Pick<ClientDoc, 'logoUri' | 'redirectUris'>

const hostOf = (uri: string): string | undefined => {
  const url = URL.parse(uri)
  return url?.protocol === 'https:' ? url.hostname : undefined
}

/** Undefined where there is none, or where it is at another host. */
export const logoOf = ({ logoUri, redirectUris }: LogoOwner): string | undefined => {
  if (logoUri === undefined || logoUri.startsWith('data:')) return logoUri
  const host = hostOf(logoUri)
  return host !== undefined && redirectUris.some((uri) => hostOf(uri) === host)
    ? logoUri
    : undefined
}

export const logoErrors = (client: LogoOwner): FieldError[] =>
  client.logoUri === undefined || logoOf(client) !== undefined
    ? []
    : [
        {
          field: '/logoUri',
          code: 'logo-host',
          message:
            'logoUri must be at the host of one of redirectUris, or a data: URL: another host would learn which users are asked for consent',
        },
      ]
