/** The schema of groups (RFC 7643 §4.2, §8.7.1). */

import { attribute, complex, type ResourceType } from './attribute.ts'

export const groupType: ResourceType = {
  name: 'Group',
  endpoint: '/Groups',
  description: 'Groups of the realm.',
  core: {
    id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
    name: 'Group',
    description: 'Group',
    attributes: [
      attribute('displayName', 'The name of the group; unique, compared without case.', {
        required: true,
        uniqueness: 'server',
      }),
      complex(
        'members',
        'Users who are direct members, and groups below this one.',
        [
          attribute('value', 'The id of the member.', { caseExact: true, mutability: 'immutable' }),
          attribute('$ref', 'The address of the member.', {
            type: 'reference',
            referenceTypes: ['User', 'Group'],
            mutability: 'immutable',
          }),
          attribute('type', 'What the member is.', {
            canonicalValues: ['User', 'Group'],
            mutability: 'immutable',
          }),
        ],
        { multiValued: true },
      ),
    ],
  },
  extensions: [],
  searched: 'any attribute of a group; of members the value, by eq',
  unsorted: ['members'],
}
