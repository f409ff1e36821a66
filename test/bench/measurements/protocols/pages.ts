/** The size of each page with all assets that it loads. */

import { examples } from '../../../pages/examples.ts'
import { weighPage } from '../../../pages/page-weight.ts'
import { exampleServer } from '../../../pages/server.ts'
import type { Measurement } from '../../measurement.ts'

export const measurePages: Measurement = async () => {
  const { app } = exampleServer({})
  try {
    const rows = []
    for (const name of Object.keys(examples)) {
      const { html, css, js, total } = await weighPage(app, `/${name}`)
      rows.push({ what: name, html, css, js, total })
    }
    return {
      title: 'pages, in bytes',
      notes: ['uncompressed, without a cache; the aim is 30,000 for each'],
      rows: rows.sort((a, b) => b.total - a.total),
    }
  } finally {
    await app.close()
  }
}
