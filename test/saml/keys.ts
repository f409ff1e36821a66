/** Keys of service providers in PEM, the form in which other software reads them. */

import type { Party } from '../xml/keys.ts'

export const pemOf = (label: string, base64: string): string =>
  `-----BEGIN ${label}-----\n${base64.replace(/\s/g, '').replace(/.{64}(?!$)/g, '$&\n')}\n-----END ${label}-----\n`

export const privateKeyOf = ({ privateKey }: Party): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

export const certificateOf = ({ certificate }: Party): string => pemOf('CERTIFICATE', certificate)
