/** Setup file of every project: what fast-check makes by chance comes from the seed of the run. */
import fc from 'fast-check'
import { seed } from './chance.ts'

fc.configureGlobal({ seed })
