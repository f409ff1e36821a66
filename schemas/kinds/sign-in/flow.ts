import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, mapOf, name, oneOf, readOnly, ref, text } from '../../marks.ts'

const execution = fields({
  authenticator: text('The authenticator that runs.', { maxLength: 255 }),
  flowAlias: Type.Optional(ref('flow', { description: 'The sub-flow that runs instead.' })),
  requirement: oneOf(['REQUIRED', 'ALTERNATIVE', 'CONDITIONAL', 'DISABLED'], {
    default: 'REQUIRED',
  }),
  authenticatorConfig: mapOf(Type.String({ maxLength: 4000 }), {
    default: {},
    description: 'Settings of the authenticator.',
  }),
})

const spec = fields({
  alias: name({ format: 'segment' }),
  description: text('What the flow is for.'),
  providerId: oneOf(['basic-flow', 'client-flow'], { default: 'basic-flow' }),
  topLevel: Type.Boolean({ default: true, description: 'False: only used inside others.' }),
  builtIn: readOnly(Type.Boolean({ description: 'Whether every realm has it.' })),
  authenticationExecutions: Type.Array(execution, { default: [], maxItems: 100 }),
})

export type FlowDoc = Static<typeof spec>

/** Of a flow that a sign-in runs, with those of its sub-flows each time that they are named. */
export const mostExecutions = 200
/** Flows inside each other. */
export const deepestFlows = 10

export const Flow = defineKind({
  kind: 'flow',
  shape: 'collection',
  section: 'flows',
  path: '/flows',
  pathKey: 'alias',
  key: 'alias',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'An authentication flow: authenticators and sub-flows in the order in which they run.',
  spec,
})
