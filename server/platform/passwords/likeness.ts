/** A hash that costs to verify exactly what another one costs, and that no password matches. */

import { parseForeign } from './foreign.ts'
import { formatPhc, parsePhc } from './phc.ts'

const zeros = ({ length }: Uint8Array): Buffer => Buffer.alloc(length)

/** The same for all hashes of the same cost; undefined for what cannot be verified. */
export function likenessOf(stored: string): string | undefined {
  const own = parsePhc(stored)
  if (own) return formatPhc({ ...own, salt: zeros(own.salt), digest: zeros(own.digest) })
  const foreign = parseForeign(stored)
  if (!foreign) return undefined
  if (foreign.kind === 'bcrypt') return `$2b$${foreign.text.slice(4, 6)}$${'.'.repeat(53)}`
  // One salt for all: its value does not change the cost.
  const end = `${'A'.repeat(22)}$${zeros(foreign.digest).toString('base64').replace(/=+$/, '')}`
  return foreign.kind === 'pbkdf2'
    ? `$pbkdf2-${foreign.algorithm}$i=${foreign.iterations}$${end}`
    : `$scrypt$ln=${Math.log2(foreign.cost)},r=${foreign.blockSize},p=${foreign.lanes}$${end}`
}
