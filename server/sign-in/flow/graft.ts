/**
 * The flows of an identity provider inside the flow of a sign-in: the execution through which the person came becomes a
 * sub-flow with the flow of a first sign-in, where it is one, and the flow that follows. It stands where the execution
 * stood, so what comes after that execution still comes after it.
 */

import {
  isSubFlow,
  type PinnedExecution,
  type PinnedFlow,
  type PinnedNode,
  type PinnedSubFlow,
} from './pinned-flow.ts'

/** Below the path of the execution: the arrival itself, which is passed already. */
export const arrivalPath = (path: string): string => `${path}.arrival`

/** Whether the person came through something within this path. */
export const cameThrough = (path: string, done: readonly string[]): boolean =>
  done.some((one) => one.startsWith(`${path}.`) && one.endsWith('.arrival'))

const below = (node: PinnedNode, prefix: string): PinnedNode => {
  const path = `${prefix}${node.path}`
  return isSubFlow(node)
    ? { ...node, path, nodes: node.nodes.map((one) => below(one, prefix)) }
    : { ...node, path }
}

const asSubFlow = (
  { path, requirement, ...execution }: PinnedExecution,
  flows: readonly PinnedFlow[],
): PinnedSubFlow => ({
  path,
  requirement,
  nodes: [
    { ...execution, path: arrivalPath(path), requirement: 'REQUIRED' },
    // Each flow as a sub-flow of its own: alternatives at the end of one and the start of the next are two choices.
    ...flows.map(
      ({ nodes }, index): PinnedSubFlow => ({
        path: `${path}.${index}`,
        requirement: 'REQUIRED',
        nodes: nodes.map((node) => below(node, `${path}.${index}.`)),
      }),
    ),
  ],
})

const replaced = (
  nodes: readonly PinnedNode[],
  path: string,
  flows: readonly PinnedFlow[],
): readonly PinnedNode[] =>
  nodes.map((node) => {
    if (isSubFlow(node)) return { ...node, nodes: replaced(node.nodes, path, flows) }
    return node.path === path ? asSubFlow(node, flows) : node
  })

export const graft = (
  { alias, nodes }: PinnedFlow,
  path: string,
  flows: readonly PinnedFlow[],
): PinnedFlow => ({ alias, nodes: replaced(nodes, path, flows) })

/** Whether something lies within what the person came through. */
export const isWithin = (path: string, outer: string): boolean => path.startsWith(`${outer}.`)
