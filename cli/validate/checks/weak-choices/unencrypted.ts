/** Addresses of other machines that are reached without encryption. */

import type { Weakness } from './weak-choice.ts'

const isPlain = (scheme: string, value: unknown): boolean => {
  const url = typeof value === 'string' && value.startsWith(scheme) ? URL.parse(value) : null
  return url !== null && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
}

/** Whether what is sent there can be read on the way. */
const isPlainHttp = (value: unknown): boolean => isPlain('http:', value)

/** The same of a directory; StartTLS is a matter of its document. */
export const isPlainLdap = (value: unknown): boolean => isPlain('ldap:', value)

/** Of the file itself, so that the pointers to list items are those of the file. */
export const asWritten = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : [])

/** The items of a list, each with its pointer. */
export const items = (field: string, list: readonly unknown[]): (readonly [string, unknown])[] =>
  list.map((value, i) => [`${field}/${i}`, value])

export const unencrypted = (
  values: readonly (readonly [field: string, value: unknown])[],
): Weakness[] =>
  values
    .filter(([, value]) => isPlainHttp(value))
    .map(([field]) => ({
      field,
      message: 'the traffic can be read on the network',
      hint: 'use https; plain http is for this machine only',
    }))
