/**
 * A flow as a sign-in keeps it: sub-flows in place, each node under a path that stays the same. A sign-in goes on by the
 * flow it began with, whatever is saved meanwhile.
 */

import { deepestFlows, Flow, type FlowDoc, mostExecutions } from '#schemas/kinds/sign-in/flow.ts'
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

/** The rules of the kind keep flows within the bounds; they are held here too, for one that was stored before it had them. */
interface Bounds {
  readonly depth: number
  /** Shared by all parts of the flow. */
  readonly count: { executions: number }
}

const nodesOf = async (
  view: Pick<RealmView, 'get'>,
  alias: string,
  prefix: string,
  { depth, count }: Bounds,
): Promise<readonly PinnedNode[]> => {
  const document = await view.get(Flow.kind, alias)
  const { authenticationExecutions = [] } = document ? contentOf<FlowDoc>(document) : {}
  count.executions += authenticationExecutions.length
  if (!document || depth > deepestFlows || count.executions > mostExecutions)
    throw new Error(`the flow "${alias}" cannot be run`)
  return Promise.all(
    authenticationExecutions.map(async (execution, index): Promise<PinnedNode> => {
      const { authenticator = '', flowAlias, requirement, authenticatorConfig: config } = execution
      const path = `${prefix}${index}`
      return flowAlias === undefined
        ? { path, requirement, authenticator, config }
        : {
            path,
            requirement,
            nodes: await nodesOf(view, flowAlias, `${path}.`, { depth: depth + 1, count }),
          }
    }),
  )
}

export const pinFlow = async (
  view: Pick<RealmView, 'get'>,
  alias: string,
): Promise<PinnedFlow> => ({
  alias,
  nodes: await nodesOf(view, alias, '', { depth: 0, count: { executions: 0 } }),
})
