/** A stored target that is older than the rules for it harms nobody. */
import { describe, expect, it } from 'vitest'
import { targetOf } from '#server/provisioning/scim/out/target.ts'
import { documentOf } from '#server/storage/documents/document.ts'

const stored = (body: object) =>
  documentOf({
    id: '00000000-0000-4000-8000-000000000001',
    realm: 'acme',
    kind: 'scim-target',
    key: 'chat',
    parent_id: null,
    origin: 'manual',
    owner: null,
    version: 1,
    hash: '',
    body: JSON.stringify({ name: 'chat', baseUrl: 'https://chat.example', ...body }),
    sealed: null,
    created_at: 0,
    updated_at: 0,
    protected: 0,
  })

const vault = { reveal: () => null }

describe('a stored SCIM target', () => {
  it('with a filter that cannot be read is sent nothing, instead of everyone or the removal of everyone', () => {
    expect(targetOf(stored({ filter: 'everyone' }), vault)).toMatchObject({
      filter: undefined,
      problem: expect.stringContaining('the filter cannot be read'),
    })
    expect(targetOf(stored({ filter: 'active pr' }), vault).problem).toBeUndefined()
  })

  it('has the defaults of today', () => {
    const { doc, profile, sendsGroups } = targetOf(stored({}), vault)
    expect(doc).toMatchObject({ matchOn: 'userName', deprovision: 'deactivate', mapping: {} })
    expect(profile.patches && sendsGroups).toBe(true)
  })
})
