/** The registry: limits that keep it honest, and views that follow from one spec. */

import { describe, expect, it } from 'vitest'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { type Kind, keyOf, parentKeyOf } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { MessageTemplate } from '#schemas/kinds/notifications/message-template.ts'
import { Webhook } from '#schemas/kinds/notifications/webhook.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { bodyView, documentView, readView, realmView, yamlView } from '#schemas/views.ts'
import { referencesOf, replaceReferences, splitSecrets } from '#schemas/walk.ts'

const everySchema = (schema: JsonSchema, visit: (schema: JsonSchema) => void): void => {
  visit(schema)
  for (const inner of Object.values(schema.properties ?? {})) everySchema(inner, visit)
  if (schema.items) everySchema(schema.items, visit)
}

describe.each(kinds)('$kind', (kind) => {
  it('has views that compile strictly', () => {
    const ajv = createAjv({ checkSchemas: true })
    for (const view of [bodyView, readView, documentView]) ajv.compile(view(kind))
    if (kind.shape !== 'tree') ajv.compile(yamlView(kind, kinds))
  })

  it('refers only to kinds that exist', () => {
    everySchema(kind.spec, (schema) => {
      const mark = schema['x-ref']
      if (mark) expect(() => kindNamed(mark.kind)).not.toThrow()
    })
  })

  it('explains itself and refuses unknown fields', () => {
    expect(kind.doc).toMatch(/\.$/)
    everySchema(kind.spec, (schema) => {
      if (schema.properties) expect(schema.additionalProperties).toBe(false)
    })
  })
})

describe('the list of kinds', () => {
  it('has no two kinds with one name, section or path', () => {
    const places = (of: (kind: Kind) => string | null) => kinds.map(of).filter((at) => at !== null)
    for (const all of [
      places(({ kind }) => kind),
      places(({ path }) => path),
      places(({ section, parentKind, shape }) =>
        shape === 'child' ? `${parentKind}.${section}` : section,
      ),
    ])
      expect(new Set(all).size).toBe(all.length)
  })

  it('describes a whole realm file', () => {
    const check = lazyValidator(createAjv(), realmView(kinds))
    expect(
      check({
        realm: 'acme',
        settings: { displayName: 'Acme', passwordPolicy: { length: 12 } },
        roles: [{ name: 'support', permissions: ['view-users'] }],
        groups: [{ name: 'Staff', roles: ['support'], groups: [{ name: 'Helpdesk' }] }],
        clients: [{ clientId: 'web', publicClient: true, roles: [{ name: 'reader' }] }],
      }),
    ).toEqual([])
    expect(check({ realm: 'acme', groups: [{ name: 'A', groups: [{ nmae: 'B' }] }] })).toEqual([
      { field: '/groups/0/groups/0/name', code: 'required', message: 'is required' },
      { field: '/groups/0/groups/0/nmae', code: 'unknown-field', message: 'unknown field' },
    ])
    expect(check({ realm: 'Not A Realm' })[0]?.field).toBe('/realm')
  })
})

describe('natural keys', () => {
  it('come from the fields, the parent, and defaults', () => {
    expect(keyOf(Client, { clientId: 'web' })).toBe('web')
    expect(keyOf(ClientRole, { name: 'reader' }, 'web')).toBe('web/reader')
    expect(keyOf(Group, { name: 'Staff' })).toBe('/Staff')
    expect(keyOf(Group, { name: 'Desk' }, '/Staff')).toBe('/Staff/Desk')
    expect(keyOf(MessageTemplate, { templateKey: 'otp', channel: 'SMS' })).toBe('otp/SMS/en')
  })

  it('tell the parent', () => {
    expect(parentKeyOf(Group, '/Staff/Desk')).toBe('/Staff')
    expect(parentKeyOf(Group, '/Staff')).toBeNull()
    expect(parentKeyOf(ClientRole, 'https://app/x/reader')).toBe('https://app/x')
    expect(parentKeyOf(Client, 'https://app/x')).toBeNull()
  })
})

describe('marks', () => {
  it('find and replace references where they stand', () => {
    const flow = kindNamed('flow')
    const doc = {
      alias: 'a',
      authenticationExecutions: [{ flowAlias: 'b' }, { authenticator: 'password' }],
    }
    expect(referencesOf(flow, doc, 'a')).toMatchObject([
      {
        kind: 'flow',
        key: 'b',
        onDelete: 'refuse',
        field: '/authenticationExecutions/0/flowAlias',
      },
    ])
    expect(replaceReferences(flow, doc, [{ kind: 'flow', from: 'b', to: 'c' }])).toEqual({
      alias: 'a',
      authenticationExecutions: [{ flowAlias: 'c' }, { authenticator: 'password' }],
    })
  })

  it('take secrets out, and a null one means unchanged', () => {
    const hook = { name: 'h', url: 'https://a.example', eventTypes: '*' }
    expect(splitSecrets(Webhook, { ...hook, secret: 's' })).toEqual({
      doc: hook,
      secrets: { '/secret': 's' },
    })
    expect(splitSecrets(Webhook, { ...hook, secret: null })).toEqual({ doc: hook, secrets: {} })
  })
})
