/** Setup file of the `server` project: its servers live in this process. */
import { inject } from 'vitest'
import { handOut } from './key-pairs.ts'

handOut(inject('keyPairs'))
