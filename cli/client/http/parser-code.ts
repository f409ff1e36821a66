/**
 * undici parses responses with a WebAssembly module. After a few hundred bytes V8 begins to optimize that module in
 * background threads, which costs a fifth of the processor time of a command such as `iamctl whoami` and ends after the
 * command. The budget after which V8 optimizes is read when the module is compiled, at the first connection: until then it
 * is raised, and then put back, because V8 rejects cached code of modules that were compiled under other flags.
 */

import { setFlagsFromString } from 'node:v8'

/** Flags differ between versions, and V8 prints an error for unknown ones: only where this one was measured. */
const isKnown = process.versions.v8.startsWith('13.')

const usual = 13_000_000
const never = 2_000_000_000

const setBudget = (budget: number): void => {
  if (isKnown) setFlagsFromString(`--wasm-tiering-budget=${budget}`)
}

let isCompiled = false

/** Runs what opens the first connection of the process; all later calls are passed on. */
export const withPlainParser = async <T>(connect: () => Promise<T>): Promise<T> => {
  if (isCompiled) return connect()
  isCompiled = true
  setBudget(never)
  try {
    return await connect()
  } finally {
    setBudget(usual)
  }
}
