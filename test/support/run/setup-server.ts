/** Setup file of the `server` project: its servers live in this process. */
import { setDefaultCACertificates } from 'node:tls'
import { inject } from 'vitest'
import { handOut } from './key-pairs.ts'

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
