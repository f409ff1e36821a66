/** Setup file of the projects `server` and `divided`: their servers live in this process. */
import { relative } from 'node:path'
import { setDefaultCACertificates } from 'node:tls'
import { expect, inject } from 'vitest'
import { type Backend, runOn } from '../backends.ts'
import { handOut } from './key-pairs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Of test files that run on one database; the others run on both. */
    databaseOf: Readonly<Record<string, Backend['name']>>
  }
}

runOn(inject('databaseOf')[relative(process.cwd(), expect.getState().testPath ?? '')])
handOut(inject('keyPairs'))

// No test calls a host of the world; to add a test's own certificate to all public authorities costs a thirtieth of a second.
setDefaultCACertificates([])

// Without a display name Fastify looks for a plugin among all modules that are loaded, a tenth of the start of a server here.
const displayName = Symbol.for('fastify.display-name')
Object.defineProperty(Function.prototype, displayName, {
  get(this: { readonly name: string }) {
    return this.name || 'plugin'
  },
  set(value: unknown) {
    Object.defineProperty(this, displayName, { value, writable: true, configurable: true })
  },
  configurable: true,
})
