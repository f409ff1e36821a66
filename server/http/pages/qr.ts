/** QR codes as the data of one SVG path: small, sharp at any size, and no markup from outside gets into it. */

import { create } from 'qrcode'

export interface QrPicture {
  /** Modules on each side, with the quiet zone. */
  readonly size: number
  readonly path: string
}

const QUIET = 4

/** Runs of dark modules become strokes one module high. */
export const qrPicture = (text: string): QrPicture => {
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const rows = Array.from({ length: modules.size }, (_, row) => {
    const cells = Array.from(modules.data.slice(row * modules.size, (row + 1) * modules.size))
    return [...cells.join('').matchAll(/1+/g)]
      .map((run) => `M${run.index + QUIET} ${row + QUIET + 0.5}h${run[0].length}`)
      .join('')
  })
  return { size: modules.size + 2 * QUIET, path: rows.join('') }
}
