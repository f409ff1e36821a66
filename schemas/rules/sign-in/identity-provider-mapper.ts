/** Mappers of identity providers: each names what it gives, and nothing that it does not read. */

import { directoryProtocols } from '../../drivers/identity-providers.ts'
import { parentKeyOf } from '../../kind.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import {
  IdentityProviderMapper,
  type IdentityProviderMapperDoc,
} from '../../kinds/sign-in/identity-provider-mapper.ts'
import type { FieldError } from '../../problems.ts'
import { type RuleContext, ruleFor } from '../rule.ts'

type Field = 'claim' | 'value' | 'attribute' | 'role' | 'clientRole' | 'group'

const taken: Readonly<
  Record<
    IdentityProviderMapperDoc['type'],
    { readonly needs: readonly (readonly Field[])[]; readonly may: readonly Field[] }
  >
> = {
  attribute: { needs: [['claim'], ['attribute']], may: [] },
  role: { needs: [['role', 'clientRole']], may: ['claim', 'value'] },
  group: { needs: [['group']], may: ['claim', 'value'] },
}

const fields: readonly Field[] = ['claim', 'value', 'attribute', 'role', 'clientRole', 'group']

/** Names and addresses come from the provider itself, which says whether they are verified. */
const profile = ['username', 'email', 'emailVerified']

/** Groups of a directory come from its own entries; mappers of a directory are not read. */
const directoryFaults = ({ find }: RuleContext, key: string): FieldError[] => {
  const parent = parentKeyOf(IdentityProviderMapper, key)
  const provider = find(IdentityProvider.kind, parent ?? '') as IdentityProviderDoc | undefined
  return provider && directoryProtocols.has(provider.protocol)
    ? [
        {
          field: '/type',
          code: 'unknown-field',
          message: `is not for ${provider.protocol}: set groupSearchBase to take over the groups of a directory`,
        },
      ]
    : []
}

export const identityProviderMapper = ruleFor<IdentityProviderMapperDoc>(
  IdentityProviderMapper,
  (doc, key, context) => {
    const { needs, may } = taken[doc.type]
    const known = new Set([...needs.flat(), ...may])
    const errors: FieldError[] = directoryFaults(context, key)
    const others = fields
      .filter((field) => doc[field] !== undefined && !known.has(field))
      .map((field) => ({
        field: `/${field}`,
        code: 'unknown-field',
        message: `is not for mappers of type ${doc.type}`,
      }))
    errors.push(...others)
    for (const one of needs)
      if (one.filter((field) => doc[field] !== undefined).length !== 1)
        errors.push({
          field: `/${one[0]}`,
          code: 'required',
          message: `is required for mappers of type ${doc.type}${one.length > 1 ? `: either ${one.join(' or ')}` : ''}`,
        })
    if (doc.value !== undefined && doc.claim === undefined)
      errors.push({ field: '/claim', code: 'required', message: 'is required beside value' })
    if (doc.attribute !== undefined && profile.includes(doc.attribute))
      errors.push({
        field: '/attribute',
        code: 'enum',
        message: 'must not be username, email or emailVerified: the provider itself sets them',
      })
    return errors
  },
  [],
  [IdentityProvider],
)
