/** Makes a limit answer with the headers of the server's own answer: it is compared byte by byte, not by the body alone. */

import { type Answer, connect } from '../load.ts'

/** Node.js writes these by itself. */
const own = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'])

export type GivenHeaders = Readonly<Record<string, string>>

/** For the limit's side: the headers that it was told. */
export const givenHeaders = (json: string): GivenHeaders => JSON.parse(json) as GivenHeaders

/** Tells them to the limit, at a path that takes them by PUT. */
export const tellHeaders = async (
  url: string,
  path: string,
  { headers }: Answer,
): Promise<void> => {
  const told = Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name)))
  const type = { 'content-type': 'text/plain' }
  const limit = connect(url)
  await limit.send({ method: 'PUT', path, headers: type, body: JSON.stringify(told) }, 200)
  await limit.close()
}
