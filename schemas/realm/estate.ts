/** The schema of `iamctl.yaml`, the file at the root of an estate. */

import Type from 'typebox'
import { type JsonSchema, jsonSchemaOf } from '../json-schema.ts'
import { sourceName } from '../wire/wire.ts'

const closed = { additionalProperties: false } as const
const paths = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description, minItems: 1 }))
const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }))

const context = Type.Object(
  {
    server: Type.Optional(
      Type.String({ format: 'web-url', description: 'Where the server is: https://iam.example.' }),
    ),
    realm: name('The realm that commands on a live realm are about.'),
    authRealm: name('The realm to sign in to; master if it is left out.'),
    username: name('Who signs in.'),
  },
  { ...closed, description: 'A server, and how to sign in to it.' },
)

const estate = Type.Object(
  {
    source: Type.Optional(sourceName),
    paths: paths('Files and folders of realms, from this folder; `realms` if it is left out.'),
    overlays: paths(
      'Overlays that are always laid on, in this order, unless --overlay names others.',
    ),
    vars: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_.-]*$' }), Type.Unknown(), {
        ...closed,
        description: 'Default values of variables, after --var, environment and files.',
      }),
    ),
    sharedRealms: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description:
          'Realms in which other estates declare documents too: a reference to one that these files do not hold is a warning.',
      }),
    ),
    prune: Type.Optional(
      Type.Unsafe<'owned' | 'all' | 'none'>({
        type: 'string',
        enum: ['owned', 'all', 'none'],
        default: 'owned',
        description: 'Which documents that left the files are destroyed.',
      }),
    ),
    guards: Type.Optional(
      Type.Object(
        {
          maxDeletions: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: 'An apply that deletes more documents of a realm is refused.',
            }),
          ),
          allowEmpty: Type.Optional(
            Type.Boolean({
              default: false,
              description: 'Whether an apply of no files at all is taken seriously.',
            }),
          ),
        },
        { ...closed, description: 'What an apply refuses to do.' },
      ),
    ),
    contexts: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' }), context, {
        ...closed,
        description: 'Servers by name.',
      }),
    ),
    defaultContext: name('The context that is used where none is named.'),
  },
  closed,
)

export const estateSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'An estate of iamctl',
  ...jsonSchemaOf(estate),
}
