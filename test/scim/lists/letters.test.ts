/** Filters without case find letters beyond ASCII, whether the database or a scan compares them (RFC 7643 §2.1). */

import { beforeAll, expect, it } from 'vitest'
import { openSite } from '../sender.ts'

const site = openSite()
const names = ['ΠΑΠΑΔΟΠΟΥΛΟΣ', 'Παπαδόπουλος', 'İPEK', 'GROẞ', 'Große', 'ÉMILE', 'Ǆemal']

beforeAll(async () => {
  for (const name of names)
    await site.scim.user(`u-${names.indexOf(name)}`, { name: { familyName: name }, title: name })
})

it.each([
  ['eq "ΠΑΠΑΔΟΠΟΥΛΟΣ"', ['ΠΑΠΑΔΟΠΟΥΛΟΣ']],
  ['eq "παπαδοπουλος"', ['ΠΑΠΑΔΟΠΟΥΛΟΣ']],
  ['eq "ΠΑΠΑΔΌΠΟΥΛΟΣ"', ['Παπαδόπουλος']],
  ['ew "ουλοσ"', ['ΠΑΠΑΔΟΠΟΥΛΟΣ', 'Παπαδόπουλος']],
  ['co "ΠΟΥΛΟΣ"', ['ΠΑΠΑΔΟΠΟΥΛΟΣ', 'Παπαδόπουλος']],
  ['sw "παπ"', ['ΠΑΠΑΔΟΠΟΥΛΟΣ', 'Παπαδόπουλος']],
  ['eq "İPEK"', ['İPEK']],
  ['eq "İpek"', ['İPEK']],
  ['eq "GROẞ"', ['GROẞ']],
  ['sw "groß"', ['GROẞ', 'Große']],
  ['eq "émile"', ['ÉMILE']],
  ['eq "ǅEMAL"', ['Ǆemal']],
])('%s', async (comparison, expected) => {
  for (const attribute of ['name.familyName', 'title']) {
    const filter = encodeURIComponent(`${attribute} ${comparison}`)
    const { body } = await site.scim.send('GET', `/Users?filter=${filter}`)
    const found = body.Resources.map(({ title }: { title: string }) => title)
    expect(found.sort(), attribute).toEqual([...expected].sort())
  }
})

it('are sorted by the letters that filters compare', async () => {
  const { body } = await site.scim.send('GET', '/Users?sortBy=title')
  const sorted = body.Resources.map(({ title }: { title: string }) => title)
  expect(sorted).toEqual([
    'GROẞ',
    'Große',
    'ÉMILE',
    'İPEK',
    'Ǆemal',
    'ΠΑΠΑΔΟΠΟΥΛΟΣ',
    'Παπαδόπουλος',
  ])
})
