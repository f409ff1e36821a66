/** The texts of the pages, one catalogue per language in `templates/pages/messages`. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { own } from '#schemas/own.ts'
import { isolated } from '#server/platform/language/bidi.ts'

export type Catalogue = Readonly<Record<string, string>>

export const readCatalogues = (folder: string): ReadonlyMap<string, Catalogue> =>
  new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .sort()
      .map((file) => {
        const texts: Catalogue = JSON.parse(readFileSync(join(folder, file), 'utf8'))
        return [file.slice(0, -'.json'.length), texts]
      }),
  )

export type Translate = (key: string, values?: Readonly<Record<string, string>>) => string

export const createTranslator = (texts: Catalogue, fallback: Catalogue): Translate => {
  const direction = texts['dir'] === 'rtl' ? 'rtl' : 'ltr'
  return (key, values = {}) => {
    const text = texts[key] ?? fallback[key]
    if (text === undefined) throw new Error(`no catalogue has the text "${key}"`)
    return text.replace(/\{(\w+)\}/g, (hole, name) =>
      isolated(own(values, name) ?? hole, direction),
    )
  }
}
