/** Kinds under all of their names, and the paths of their documents. */
import { describe, expect, it } from 'vitest'
import { pathOfList, pathOfOne } from '#cli/client/document-paths.ts'
import { findKind, kindWord } from '#cli/client/kind-names.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { kinds } from '#schemas/registry.ts'

describe('a kind', () => {
  it.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s is found by its names',
    (_, kind) => {
      for (const word of [kind.kind, kindWord(kind), kind.kind.toUpperCase().replaceAll('-', '_')])
        expect(findKind(word)).toBe(kind)
    },
  )

  it.each(sectionKinds.map((kind) => [kind.section, kind] as const))(
    'is found by its section %s',
    (section, kind) => {
      expect(findKind(section)).toBe(kind)
    },
  )

  it('that is not known is answered with the one that was meant', () => {
    expect(() => findKind('clint')).toThrow(
      expect.objectContaining({ hint: 'did you mean "client"?', exitCode: 1 }),
    )
    expect(() => findKind('group//Staff')).toThrow(
      expect.objectContaining({ hint: 'write two words: group /Staff' }),
    )
    expect(() => findKind('spaceship')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('webhooks') }),
    )
  })
})

describe('the path', () => {
  it.each([
    ['client', 'web', '/clients/web'],
    ['saml-client', 'https://sp.example/saml', '/saml-clients/https%3A%2F%2Fsp.example%2Fsaml'],
    ['client-role', 'web/reader', '/clients/web/roles/reader'],
    ['group', '/Staff/Helpdesk', '/groups/%2FStaff%2FHelpdesk'],
    ['group', 'Staff', '/groups/%2FStaff'],
    ['messaging-provider', 'EMAIL/smtp', '/messaging/providers/EMAIL%2Fsmtp'],
    ['settings', 'settings', '/settings'],
    ['user', 'alice', '/users/alice'],
  ])('of %s %s', (kind, key, path) => {
    expect(pathOfOne('acme', findKind(kind), key)).toBe(`/admin/realms/acme${path}`)
  })

  it('of a child names its parent', () => {
    const kind = findKind('client-role')
    expect(pathOfList('acme', kind, 'we b')).toBe('/admin/realms/acme/clients/we%20b/roles')
    expect(() => pathOfOne('acme', kind, 'reader')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('client/NAME') }),
    )
  })
})
