/** Signing keys, one a line. */

import type { KeyRecord } from '#schemas/wire/records.ts'
import { printTable } from '../elements/table.ts'
import { moment } from '../elements/values.ts'

/** A key has its time: it is published before, and kept after. */
const purposes: Readonly<Record<KeyRecord['status'], string>> = {
  ACTIVE: 'signs',
  NEXT: 'will sign',
  PASSIVE: 'verifies',
}

export const showKeys = (keys: readonly KeyRecord[]): void =>
  printTable(
    ['key', 'use', 'algorithm', 'created', 'replaced'],
    keys.map((key) => [
      key.keyId,
      purposes[key.status],
      key.algorithm,
      moment(key.createdAt),
      moment(key.rotatedAt),
    ]),
  )
