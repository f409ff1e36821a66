/**
 * The fingerprint of RSA keys made by the Infineon library of CVE-2017-15361 (ROCA; Nemec et al., "The Return of
 * Coppersmith's Attack", CCS 2017, §3.2): such a modulus is a power of 65537 modulo the product of the small primes, and
 * can be factored. A modulus is one of these where it is a power of 65537 modulo each prime and one exponent fits all of
 * them; a random modulus passes by chance about once in 2^150.
 */

const generator = 65_537
const primes = [
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
  101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
]

/** An exponent, known modulo the order of the generator. */
interface Logarithm {
  readonly exponent: number
  readonly order: number
}

/** The powers of the generator modulo a prime, by the place of the exponent. */
const powersOf = (prime: number): readonly number[] => {
  const powers = [1 % prime]
  for (let next = generator % prime; next !== powers[0]; next = (next * generator) % prime)
    powers.push(next)
  return powers
}

const tables = primes.map((prime) => ({ prime: BigInt(prime), powers: powersOf(prime) }))

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

const agree = (a: Logarithm, b: Logarithm): boolean =>
  (a.exponent - b.exponent) % gcd(a.order, b.order) === 0

export const hasRocaFingerprint = (modulus: bigint): boolean => {
  const found: Logarithm[] = []
  for (const { prime, powers } of tables) {
    const exponent = powers.indexOf(Number(modulus % prime))
    if (exponent < 0) return false
    const one = { exponent, order: powers.length }
    if (!found.every((other) => agree(one, other))) return false
    found.push(one)
  }
  return true
}
