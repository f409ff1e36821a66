/** Child process of the storage tests: opens the URL it is given, says so or why not, and stays until it is ended. */
import { openStorage } from '#server/storage/open.ts'

const url = process.argv[2] ?? ''
try {
  await openStorage({ url })
  process.stdout.write('opened\n')
} catch (error) {
  process.stdout.write(`${error instanceof Error ? `${error.name}: ${error.message}` : error}\n`)
  process.exitCode = 1
}
