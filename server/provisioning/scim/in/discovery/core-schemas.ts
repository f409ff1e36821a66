/** The schemas of the discovery resources themselves (RFC 7643 §5 to §7, §8.7.2). */

import { type Attribute, attribute, complex, type Schema } from '../schema/attribute.ts'
import { configSchema } from './service-provider-config.ts'

const readOnly = (attributes: readonly Attribute[]): Attribute[] =>
  attributes.map((one) => ({
    ...one,
    mutability: 'readOnly',
    ...(one.subAttributes ? { subAttributes: readOnly(one.subAttributes) } : {}),
  }))

const flag = (name: string, description: string): Attribute =>
  attribute(name, description, { type: 'boolean', required: true })

const number = (name: string, description: string): Attribute =>
  attribute(name, description, { type: 'integer', required: true })

const supported = (name: string, description: string, more: readonly Attribute[] = []): Attribute =>
  complex(name, description, [flag('supported', 'Whether it is offered.'), ...more], {
    required: true,
  })

const uri = { type: 'reference', referenceTypes: ['uri'], caseExact: true } as const

export const resourceTypeSchema = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType'
export const schemaSchema = 'urn:ietf:params:scim:schemas:core:2.0:Schema'

/** What is known of an attribute; the parts of a complex one are described in the same way. */
const characteristics: readonly Attribute[] = [
  attribute('name', 'The name of the attribute.', { required: true, caseExact: true }),
  attribute('type', 'The type of its values.', { required: true }),
  flag('multiValued', 'Whether it is a list.'),
  attribute('description', 'What it is.'),
  attribute('required', 'Whether it must be given.', { type: 'boolean' }),
  attribute('canonicalValues', 'Values that are usual.', { multiValued: true, caseExact: true }),
  attribute('caseExact', 'Whether case counts.', { type: 'boolean' }),
  attribute('mutability', 'Whether it can be written.', { caseExact: true }),
  attribute('returned', 'When it is returned.', { caseExact: true }),
  attribute('uniqueness', 'Whether its values are unique.', { caseExact: true }),
  attribute('referenceTypes', 'What it may refer to.', { multiValued: true, caseExact: true }),
]

export const coreSchemas: readonly Schema[] = [
  {
    id: configSchema,
    name: 'ServiceProviderConfig',
    description: 'What the service offers.',
    attributes: readOnly([
      attribute('documentationUri', 'The address of its documentation.', uri),
      supported('patch', 'PATCH.'),
      supported('bulk', 'Bulk requests.', [
        number('maxOperations', 'Operations of a request at most.'),
        number('maxPayloadSize', 'Bytes of a request at most.'),
      ]),
      supported('filter', 'Filters.', [number('maxResults', 'Resources of a response at most.')]),
      supported('changePassword', 'Changes of passwords.'),
      supported('sort', 'Sorted lists.'),
      supported('etag', 'Versions of resources.'),
      complex('pagination', 'Pages of lists (RFC 9865).', [
        flag('cursor', 'Whether pages can be asked for by cursor.'),
        flag('index', 'Whether pages can be asked for by index.'),
        attribute('defaultPaginationMethod', 'What is used where nothing is asked for.'),
        attribute('defaultPageSize', 'Resources of a page.', { type: 'integer' }),
        attribute('maxPageSize', 'Resources of a page at most.', { type: 'integer' }),
      ]),
      complex(
        'authenticationSchemes',
        'How senders authenticate.',
        [
          attribute('type', 'The scheme.', { required: true }),
          attribute('name', 'Its name.', { required: true }),
          attribute('description', 'What it is.', { required: true }),
          attribute('specUri', 'The address of its specification.', uri),
          attribute('documentationUri', 'The address of its documentation.', uri),
          attribute('primary', 'Whether it is preferred.', { type: 'boolean' }),
        ],
        { multiValued: true, required: true },
      ),
    ]),
  },
  {
    id: resourceTypeSchema,
    name: 'ResourceType',
    description: 'A type of resources.',
    attributes: readOnly([
      attribute('name', 'The name of the type.', { required: true }),
      attribute('description', 'What its resources are.'),
      attribute('endpoint', 'The address of its resources.', { ...uri, required: true }),
      attribute('schema', 'The schema of its resources.', { ...uri, required: true }),
      complex(
        'schemaExtensions',
        'Schemas that extend it.',
        [
          attribute('schema', 'The schema.', { ...uri, required: true }),
          flag('required', 'Whether every resource has it.'),
        ],
        { multiValued: true },
      ),
    ]),
  },
  {
    id: schemaSchema,
    name: 'Schema',
    description: 'A schema: the attributes of resources.',
    attributes: readOnly([
      attribute('name', 'The name of the schema.', { required: true }),
      attribute('description', 'What it describes.'),
      complex(
        'attributes',
        'Its attributes.',
        [
          ...characteristics,
          complex('subAttributes', 'The parts of a complex attribute.', characteristics, {
            multiValued: true,
          }),
        ],
        { multiValued: true, required: true },
      ),
    ]),
  },
]
