/** The schemas of users: core (RFC 7643 §4.1, §8.7.1) and the enterprise extension (§4.3). */

import { attribute, complex, plural, type ResourceType, type Schema } from './attribute.ts'

const caseExact = { caseExact: true } as const
const readOnly = { mutability: 'readOnly' } as const

const userSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'User Account',
  attributes: [
    attribute('userName', 'The name that the user signs in with; unique, compared without case.', {
      required: true,
      uniqueness: 'server',
    }),
    complex('name', 'The parts of the name of the user.', [
      attribute('formatted', 'The whole name, as it is shown.'),
      attribute('familyName', 'The family name.'),
      attribute('givenName', 'The given name.'),
      attribute('middleName', 'The middle name.'),
      attribute('honorificPrefix', 'What is written before the name, such as a title.'),
      attribute('honorificSuffix', 'What is written after the name, such as "Jr.".'),
    ]),
    attribute('displayName', 'The name that is shown to others.'),
    attribute('nickName', 'The name that the user is called by.'),
    attribute('profileUrl', "The address of the user's profile.", {
      type: 'reference',
      referenceTypes: ['external'],
    }),
    attribute('title', 'The title of the position, such as "Vice President".'),
    attribute('userType', 'The relation to the organization, such as "Contractor".'),
    attribute('preferredLanguage', 'The language that the user prefers (RFC 9110 §12.5.4).'),
    attribute('locale', 'The language and region for numbers and dates.'),
    attribute('timezone', 'The time zone, as in the IANA database.'),
    attribute('active', 'Whether the user may sign in. False ends sessions and tokens at once.', {
      type: 'boolean',
      // Every user has it, and it cannot be removed; a user who is made without it may sign in.
      required: true,
    }),
    attribute('password', 'A new password; it must obey the policy of the realm.', {
      caseExact: true,
      mutability: 'writeOnly',
      returned: 'never',
    }),
    plural(
      'emails',
      // The other addresses are not unique, and so `value` is not (RFC 7643 §7).
      'Email addresses. The primary one, else the first of type work, else the first, is the address of the user, which no other user has.',
      ['work', 'home', 'other'],
    ),
    plural('phoneNumbers', 'Telephone numbers.', [
      'work',
      'home',
      'mobile',
      'fax',
      'pager',
      'other',
    ]),
    plural('ims', 'Addresses of instant messengers.', []),
    plural('photos', 'Addresses of pictures.', ['photo', 'thumbnail'], {
      type: 'reference',
      referenceTypes: ['external'],
      ...caseExact,
    }),
    complex(
      'addresses',
      'Postal addresses.',
      [
        attribute('formatted', 'The whole address, as it is written on a letter.'),
        attribute('streetAddress', 'Street and number.'),
        attribute('locality', 'City or place.'),
        attribute('region', 'State or region.'),
        attribute('postalCode', 'Postal code.'),
        attribute('country', 'Country, by ISO 3166-1.'),
        attribute('type', 'What the address is used for.', {
          canonicalValues: ['work', 'home', 'other'],
        }),
        attribute('primary', 'Whether it is the preferred address; one at most is.', {
          type: 'boolean',
        }),
      ],
      { multiValued: true },
    ),
    complex(
      'groups',
      'Groups that the user is a direct member of; changed at the group.',
      [
        attribute('value', 'The id of the group.', readOnly),
        attribute('$ref', 'The address of the group.', {
          type: 'reference',
          referenceTypes: ['Group'],
          ...readOnly,
        }),
        attribute('display', 'The name of the group.', readOnly),
        attribute('type', 'How the user is a member.', {
          canonicalValues: ['direct'],
          ...readOnly,
        }),
      ],
      { multiValued: true, ...readOnly },
    ),
    plural(
      'entitlements',
      'What the user is entitled to elsewhere; stored, and grants nothing here.',
      [],
    ),
    plural('roles', 'Roles of the user elsewhere; stored, and grants nothing here.', []),
    plural('x509Certificates', 'Certificates of the user; stored, and not used for sign-in.', [], {
      type: 'binary',
      ...caseExact,
    }),
  ],
}

export const enterpriseSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  name: 'EnterpriseUser',
  description: 'What an organization knows of its people.',
  attributes: [
    attribute('employeeNumber', 'The number that the organization gave the person.'),
    attribute('costCenter', 'The name of a cost center.'),
    attribute('organization', 'The name of an organization.'),
    attribute('division', 'The name of a division.'),
    attribute('department', 'The name of a department.'),
    // Senders name people here that they never provision: there is no address to answer.
    complex('manager', "The person's manager.", [attribute('value', 'The id of the manager.')]),
  ],
}

/** Users who are read one by one for a filter or an order that the database has no column for. */
export const mostScanned = 20_000

export const userType: ResourceType = {
  name: 'User',
  endpoint: '/Users',
  description: 'Users of the realm.',
  core: userSchema,
  extensions: [enterpriseSchema],
  searched: `any attribute but the password. id, externalId, userName, emails, name.familyName, name.givenName, groups.value, active and meta are found among any number of users; other attributes among ${mostScanned} users that the rest of the filter leaves, and more get 400 tooMany`,
  unsorted: [],
}
