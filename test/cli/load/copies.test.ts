/** A file that is named counts more than what lies beside it: a copy, an export. */
import { describe, expect, it } from 'vitest'
import { brief, createFolder } from './folder.ts'

const shop = 'realm: shop\nsettings: { displayName: New }\n'
const copy = 'realm: shop\nsettings: { displayName: Old, verifyEmail: true }\n'

describe('a named file', () => {
  it.each([
    ['a copy beside it', { 'copy.yaml': copy }, ['shop.yaml']],
    ['an export in the folder realms', { 'realms/shop.yaml': copy }, ['shop.yaml']],
    [
      'an estate that it is no part of',
      { 'iamctl.yaml': 'source: s\npaths: [files]\n', 'files/shop.yaml': copy },
      ['shop.yaml'],
    ],
  ])('is not contradicted by %s, and is completed by it', async (_, files, paths) => {
    using folder = createFolder({ 'shop.yaml': shop, ...files })
    const { realms, diagnostics } = await folder.load({ paths })
    expect(brief(diagnostics)).toEqual([])
    expect(realms[0]?.value).toEqual({
      realm: 'shop',
      settings: { displayName: 'New', verifyEmail: true },
    })
  })

  it('is not contradicted by a section of another shape', async () => {
    using folder = createFolder({ 'shop.yaml': shop, 'copy.yaml': 'realm: shop\nsettings: null\n' })
    const { realms, diagnostics } = await folder.load({ paths: ['shop.yaml'] })
    expect(brief(diagnostics)).toEqual([])
    expect(realms[0]?.value).toEqual({ realm: 'shop', settings: { displayName: 'New' } })
  })

  it('has nothing to do with a folder that is called like a file', async () => {
    using folder = createFolder({ 'shop.yaml': shop, 'old.yaml/shop.yaml': copy })
    const { realms, diagnostics } = await folder.load({ paths: ['shop.yaml'] })
    expect(brief(diagnostics)).toEqual([])
    expect(realms[0]?.elsewhere).toEqual([])
  })

  it('contradicts another file of its estate: the whole estate is not valid either', async () => {
    using folder = createFolder({
      'iamctl.yaml': 'source: s\npaths: [files]\n',
      'files/a.yaml': shop,
      'files/b.yaml': copy,
    })
    for (const paths of [['files/a.yaml'], ['files'], []]) {
      const { diagnostics } = await folder.load({ paths })
      expect(diagnostics).toMatchObject([{ code: 'duplicate-field' }])
    }
  })
})
