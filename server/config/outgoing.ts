/** Section `outgoing`: the exceptions from what the server may call. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import Type from 'typebox'
import { defineSection } from './section.ts'

const isTarget = (text: string): boolean =>
  isIP(text) !== 0 ||
  ipaddr.isValidCIDR(text) ||
  /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?$/i.test(text)

export const outgoing = defineSection({
  doc: 'Addresses that the server may call for its users: the public internet over https, and those named here.',
  prefix: 'outgoing',
  options: {
    allow: Type.Array(Type.String(), {
      default: [],
      description:
        'Private ranges, addresses or host names that may be called, separated by commas.',
    }),
    allowHttp: Type.Boolean({ default: false, description: 'Whether plain http may be used.' }),
  },
  check: ({ allow }) =>
    allow.every(isTarget)
      ? undefined
      : { option: 'allow', message: 'must be address ranges or host names' },
})
