/**
 * Making an RSA key costs a tenth of a second, and every realm of every test wants two: an eighth of what the tests
 * cost. The first ones that a worker makes are handed out again in turn, so that two that are made after each other
 * are always different keys.
 */
import { webcrypto } from 'node:crypto'

const MOST = 32

type Generate = typeof webcrypto.subtle.generateKey

const { subtle } = webcrypto
const generate: Generate = subtle.generateKey.bind(subtle)
const made = new Map<string, webcrypto.CryptoKeyPair[]>()
let next = 0

const inTurn = async (...wanted: Parameters<Generate>) => {
  const [algorithm, extractable, usages] = wanted
  const isRsa = typeof algorithm === 'object' && 'modulusLength' in algorithm
  if (!isRsa || !extractable) return generate(...wanted)
  const shape = JSON.stringify([algorithm, usages])
  const pairs = made.get(shape) ?? []
  made.set(shape, pairs)
  if (pairs.length < MOST) {
    const pair = (await generate(...wanted)) as webcrypto.CryptoKeyPair
    pairs.push(pair)
    return pair
  }
  next += 1
  return pairs[next % MOST]
}

Object.defineProperty(subtle, 'generateKey', { value: inTurn, configurable: true })
