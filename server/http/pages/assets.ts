/**
 * The files that pages load, under names that change with their content, so that browsers may keep them for ever: the
 * style sheet and scripts of all pages, and the style of each realm.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Branding, brandStyle } from './branding.ts'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

interface Asset {
  /** With its digest. */
  readonly name: string
  readonly type: string
  readonly body: Buffer | string
}

/** Null for a realm that does not exist. */
export type BrandingOf = (realm: string) => Promise<Branding | null>

export interface Assets {
  /** The path of a script by its name, or of `pages.css`. */
  pathOf(file: string): string
  /** The path of a realm's style; none where it has none. */
  stylePath(realm: string, branding: Branding): string | undefined
  routes(app: FastifyInstance, brandingOf?: BrandingOf): void
}

const named = /^([a-z]+)-[0-9a-f]{16}(\.[a-z]+)$/

const asset = (stem: string, ending: string, body: Buffer | string): Asset => {
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 16)
  return { name: `${stem}-${digest}${ending}`, type: types[ending] ?? '', body }
}

/** Made once for each version of a realm's settings, which never change in place. */
const createStyles = () => {
  const made = new WeakMap<Branding, Asset>()
  return (branding: Branding): Asset => {
    const known = made.get(branding)
    if (known) return known
    const style = asset('style', '.css', brandStyle(branding))
    made.set(branding, style)
    return style
  }
}

/** During an update a page may come from a newer node than its files: what is there is better than nothing. */
const send = (reply: FastifyReply, asked: string, found: Asset): FastifyReply =>
  reply
    .header(
      'cache-control',
      asked === found.name ? 'public, max-age=31536000, immutable' : 'no-cache',
    )
    .type(found.type)
    .send(found.body)

/** The style sheet is written in parts, in the order of their precedence, and sent as one. */
const parts = ['base', 'controls', 'steps', 'account', 'media']

const readSheet = (folder: string): string =>
  parts
    .map((part) => readFileSync(join(folder, `${part}.css`), 'utf8'))
    .join('')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')

const readScripts = (folder: string): [string, Asset][] =>
  readdirSync(folder).map((file) => [
    file,
    asset(basename(file, '.js'), '.js', readFileSync(join(folder, file))),
  ])

export const readAssets = (templatesDir: string): Assets => {
  const files = new Map([
    ['pages.css', asset('pages', '.css', readSheet(join(templatesDir, 'styles')))],
    ...readScripts(join(templatesDir, 'scripts')),
  ])
  const styleOf = createStyles()
  return {
    pathOf(file) {
      const found = files.get(file)
      if (!found) throw new Error(`the pages have no file "${file}"`)
      return `/assets/${found.name}`
    },
    stylePath(realm, branding) {
      const style = styleOf(branding)
      return style.body === '' ? undefined : `/assets/${encodeURIComponent(realm)}/${style.name}`
    },
    routes(app, brandingOf) {
      app.get<{ Params: { file: string } }>('/assets/:file', (request, reply) => {
        const [, stem, ending] = named.exec(request.params.file) ?? []
        const found = files.get(`${stem}${ending}`)
        return found ? send(reply, request.params.file, found) : reply.callNotFound()
      })
      app.get<{ Params: { realm: string; file: string } }>(
        '/assets/:realm/:file',
        async (request, reply) => {
          const { realm, file } = request.params
          const [, stem, ending] = named.exec(file) ?? []
          const branding = `${stem}${ending}` === 'style.css' ? await brandingOf?.(realm) : null
          // A realm that has no style any more gets an empty one, for pages that are still open.
          return branding ? send(reply, file, styleOf(branding)) : reply.callNotFound()
        },
      )
    },
  }
}
