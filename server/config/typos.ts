/**
 * Finds variables that were meant to be options. Only those: `IAMCTL_…` is also the prefix of the CLI's own
 * variables and of what Kubernetes makes up for a Service of that name.
 */

import { distance } from '#schemas/text/typos.ts'

const PREFIX = 'IAMCTL_'

/** Read by the CLI as a client. */
const clientSide: ReadonlySet<string> = new Set(
  ['SERVER', 'REALM', 'USERNAME', 'PASSWORD', 'TOKEN', 'CONTEXT'].map((name) => PREFIX + name),
)

/** The option that an unknown variable was meant to be, if it looks like one. */
export const likelyTypo = (variable: string, options: readonly string[]): string | undefined => {
  const upper = variable.toUpperCase()
  if (!upper.startsWith(PREFIX) || options.includes(variable) || clientSide.has(variable))
    return undefined
  const word = upper.slice(PREFIX.length)
  return options.find((option) => {
    const name = option.slice(PREFIX.length)
    // Two words of a longer name, such as ADMIN_PASSWORD for BOOTSTRAP_ADMIN_PASSWORD.
    if (word.includes('_') && name.endsWith(`_${word}`)) return true
    return distance(word, name) <= Math.ceil(name.length / 6)
  })
}
