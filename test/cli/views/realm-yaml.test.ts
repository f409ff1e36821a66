/** A realm as YAML: whatever texts the server holds, the loader reads the same again. */
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { findEstate } from '#cli/load/estate.ts'
import { loadRealms } from '#cli/load/load.ts'
import { realmText, sectionTexts } from '#cli/views/yaml/realm.ts'
import { formatVersion, type RealmExport } from '#schemas/wire/wire.ts'

const exported = (sections: Readonly<Record<string, unknown>>): RealmExport => ({
  formatVersion,
  realm: 'acme',
  revision: 1,
  meta: { sections: {}, documents: {} },
  ...sections,
})

const loaded = async (text: string): Promise<unknown> => {
  const { estate } = await findEstate({ cwd: '/' })
  const options = { paths: ['-'], cwd: '/', estate, env: {}, stdin: Readable.from([text]) }
  const { realms, diagnostics } = await loadRealms(options)
  expect(diagnostics).toEqual([])
  return realms[0]?.value
}

describe('a realm as YAML', () => {
  it.each([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the server holds
    '${env:HOME}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the server holds
    'pay ${var:amount} now, $${literally} and ${not closed',
    'yes',
    '0x1F',
    '12e3',
    ' - a: # b',
    'two\nlines\n',
    `"quoted' \\`,
    '',
  ])('gives the text %j back', async (description) => {
    const roles = [
      { name: 'a', description, attributes: { '7': [description], [description]: ['x'] } },
    ]
    expect(await loaded(realmText(exported({ roles })))).toEqual({ realm: 'acme', roles })
    const [text = ''] = sectionTexts(exported({ roles })).values()
    expect(await loaded(text)).toEqual({ realm: 'acme', roles })
  })
})
