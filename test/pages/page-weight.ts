/** What a page weighs with everything it loads, as a browser would without a cache; uncompressed. */
import type { FastifyInstance } from 'fastify'

export interface PageWeight {
  readonly html: number
  readonly css: number
  readonly js: number
  readonly total: number
}

export const weighPage = async (app: FastifyInstance, url: string): Promise<PageWeight> => {
  const { body } = await app.inject(url)
  const weigh = async (ending: string): Promise<number> => {
    const paths = [...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)]
      .map(([, path = '']) => path)
      .filter((path) => path.endsWith(ending))
    const files = await Promise.all(paths.map((path) => app.inject(path)))
    return files.reduce((sum, { rawPayload }) => sum + rawPayload.length, 0)
  }
  const [html, css, js] = [Buffer.byteLength(body), await weigh('.css'), await weigh('.js')]
  return { html, css, js, total: html + css + js }
}
