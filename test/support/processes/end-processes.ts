/** Setup file of the `process` project: runs for every test file and ends what the file has left running. */
import { afterAll } from 'vitest'
import { endProcesses } from './processes.ts'

afterAll(endProcesses)
