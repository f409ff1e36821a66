/** Given and family name together. */

import { type ClaimMapper, named } from './mapper.ts'

export const fullName: ClaimMapper = {
  id: 'oidc-full-name-mapper',
  claim: 'name',
  claims: ({ config, user }) => {
    const name = [user?.firstName, user?.lastName].filter(Boolean).join(' ')
    return named({ 'claim.name': 'name', ...config }, name === '' ? [] : [name], { list: false })
  },
}
