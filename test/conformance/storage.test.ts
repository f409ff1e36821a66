/** The storage contract on every database. */
import { backends } from '../support/backends.ts'
import { storageSuite } from './storage-suite.ts'

for (const { name, open } of backends) storageSuite(name, open)
