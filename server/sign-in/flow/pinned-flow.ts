/**
 * A flow as a sign-in keeps it: sub-flows in place, each node under a path that stays the same. A sign-in goes on by the
 * flow it began with, whatever is saved meanwhile.
 */

import { Flow, type FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'

type Requirement = FlowDoc['authenticationExecutions'][number]['requirement']

export interface PinnedExecution {
  readonly path: string
  readonly requirement: Requirement
  readonly authenticator: string
  readonly config: Readonly<Record<string, string>>
}

export interface PinnedSubFlow {
  readonly path: string
  readonly requirement: Requirement
  readonly nodes: readonly PinnedNode[]
}

export type PinnedNode = PinnedExecution | PinnedSubFlow

export interface PinnedFlow {
  readonly alias: string
  readonly nodes: readonly PinnedNode[]
}

export const isSubFlow = (node: PinnedNode): node is PinnedSubFlow => 'nodes' in node

/** The rule of the kind keeps flows from running inside themselves; this only keeps a mistake from running for ever. */
const deepest = 10

const nodesOf = async (
  view: Pick<RealmView, 'get'>,
  alias: string,
  prefix: string,
  depth: number,
): Promise<readonly PinnedNode[]> => {
  const document = await view.get(Flow.kind, alias)
  if (!document || depth > deepest) throw new Error(`the flow "${alias}" cannot be run`)
  const { authenticationExecutions } = contentOf<FlowDoc>(document)
  return Promise.all(
    authenticationExecutions.map(async (execution, index): Promise<PinnedNode> => {
      const { authenticator = '', flowAlias, requirement, authenticatorConfig: config } = execution
      const path = `${prefix}${index}`
      return flowAlias === undefined
        ? { path, requirement, authenticator, config }
        : { path, requirement, nodes: await nodesOf(view, flowAlias, `${path}.`, depth + 1) }
    }),
  )
}

export const pinFlow = async (
  view: Pick<RealmView, 'get'>,
  alias: string,
): Promise<PinnedFlow> => ({ alias, nodes: await nodesOf(view, alias, '', 0) })
