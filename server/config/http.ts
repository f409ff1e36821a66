/** Section `http`: the address of the server, inside and outside. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import Type from 'typebox'
import { defineSection } from './section.ts'

const isRange = (text: string): boolean => isIP(text) !== 0 || ipaddr.isValidCIDR(text)

const baseUrlFault = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return 'must be an absolute http or https URL'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  // `?` and `#` are looked for in the text: an empty query or fragment leaves no trace in the URL.
  if (url.pathname !== '/' || /[?#]/.test(text))
    return 'must be an origin such as https://id.example, without path, query or fragment'
  return undefined
}

export const http = defineSection({
  doc: 'Listen address and public address of the server.',
  options: {
    host: Type.String({
      default: '127.0.0.1',
      minLength: 1,
      description: 'Address to listen on; 0.0.0.0 or :: for all.',
    }),
    port: Type.Integer({
      default: 8080,
      minimum: 0,
      maximum: 65_535,
      description: 'Port to listen on; 0 for any that is free, which needs a base URL.',
    }),
    baseUrl: Type.Optional(
      Type.String({
        description:
          'The origin users and clients see. Links, issuers and cookies come from it, never from a request. Default: http://127.0.0.1:<port>.',
      }),
    ),
    trustedProxies: Type.Array(Type.String(), {
      default: [],
      description:
        'Addresses or ranges (10.0.0.0/8) of proxies whose X-Forwarded-For is believed, separated by commas.',
    }),
  },
  check: ({ baseUrl, port, trustedProxies }) => {
    if (baseUrl === undefined && port === 0)
      return { option: 'port', message: 'is 0, so --base-url (IAMCTL_BASE_URL) must be given' }
    const fault = baseUrl === undefined ? undefined : baseUrlFault(baseUrl)
    if (fault !== undefined) return { option: 'baseUrl', message: fault }
    return trustedProxies.every(isRange)
      ? undefined
      : { option: 'trustedProxies', message: 'must be addresses or ranges such as 10.0.0.0/8' }
  },
})
