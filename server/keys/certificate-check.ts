/** The certificates of the signing keys, as the health of the server reports them. */

import { X509Certificate } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'

/** Whether the certificate of every key that signs is valid today; each is read once. */
export const createCertificateCheck = ({ db }: Pick<Storage, 'db'>, clock: Clock) => {
  const validity = new Map<string, { readonly from: number; readonly to: number }>()
  const active = db.selectFrom('signing_keys').where('status', '=', 'ACTIVE')

  const learn = async (ids: readonly string[]): Promise<void> => {
    const rows = await active.select(['id', 'certificate']).where('id', 'in', ids).execute()
    for (const { id, certificate } of rows) {
      const { validFrom, validTo } = new X509Certificate(Buffer.from(certificate, 'base64'))
      validity.set(id, { from: Date.parse(validFrom), to: Date.parse(validTo) })
    }
  }

  return async (): Promise<boolean> => {
    const ids = (await active.select('id').execute()).map(({ id }) => id)
    for (const id of validity.keys()) if (!ids.includes(id)) validity.delete(id)
    const unknown = ids.filter((id) => !validity.has(id))
    for (let first = 0; first < unknown.length; first += 500)
      await learn(unknown.slice(first, first + 500))
    const now = clock.now()
    return [...validity.values()].every(({ from, to }) => from <= now && now <= to)
  }
}
