/** A field that every user has: its name, its address. */

import { type UserProperty, userProperties } from '#schemas/drivers/claim-mappers.ts'
import { type ClaimMapper, type MappedUser, named } from './mapper.ts'

const seconds = (milliseconds: number): string => String(Math.floor(milliseconds / 1000))

const properties: Readonly<Record<UserProperty, (user: MappedUser) => string | null>> = {
  id: ({ id }) => id,
  username: ({ username }) => username,
  email: ({ email }) => email,
  emailVerified: ({ emailVerified }) => String(emailVerified),
  firstName: ({ firstName }) => firstName,
  lastName: ({ lastName }) => lastName,
  createdTimestamp: ({ createdAt }) => String(createdAt),
  updatedAt: ({ updatedAt }) => seconds(updatedAt),
}

export const property: ClaimMapper = {
  id: 'oidc-usermodel-property-mapper',
  claims: ({ config, user }) => {
    const name = userProperties.find((one) => one === config['user.attribute'])
    const value = user && name && properties[name](user)
    return named(config, value ? [value] : [])
  },
}
