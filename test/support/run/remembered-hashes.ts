/**
 * Argon2id as in production, with its results remembered: tests set and check the same few passwords thousands of times, at
 * a fiftieth of a second each. A hash that is asked for again is one of the first for that password, in turn, so that two
 * users in a row do not share a salt.
 */
import { loadEngine, type PasswordEngine } from '#server/platform/passwords/engine.ts'

const MANY = 4

let engine: Promise<PasswordEngine> | undefined
const checked = new Map<string, boolean>()
const made = new Map<string, string[]>()

const remembering = async (): Promise<PasswordEngine> => {
  const { close: _, ...real } = await loadEngine()
  const hash = async (password: string): Promise<string> => {
    const before = made.get(password) ?? []
    made.set(password, before)
    const phc = before.length < MANY ? await real.hash(password) : before.shift()
    if (phc === undefined) throw new Error('there is no hash to hand out')
    before.push(phc)
    return phc
  }
  const verify = async (phc: string, password: string): Promise<boolean> => {
    const key = `${phc} ${password}`
    const matches = checked.get(key) ?? (await real.verify(phc, password))
    checked.set(key, matches)
    return matches
  }
  return { ...real, hash, verify }
}

/** One for all servers of this process; its threads end with the process. */
export const rememberedHashes = (): Promise<PasswordEngine> => (engine ??= remembering())
