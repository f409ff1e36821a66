/** A writer thread that says it is ready and dies of the first job. */
import { parentPort } from 'node:worker_threads'

parentPort?.on('message', () => process.exit(3))
parentPort?.postMessage({ kind: 'ready' })
