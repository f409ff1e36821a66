/**
 * What a sign-in asks next: the nodes of its flow in their order.
 *
 * REQUIRED must pass. Adjacent ALTERNATIVE nodes are one choice, of which one must pass. A CONDITIONAL sub-flow runs if all
 * its conditions hold; a CONDITIONAL execution if the user has the factor. The result of a condition is fixed for the
 * sign-in. A node that cannot pass makes the flow stuck: nothing is skipped, and no other factor is enrolled instead,
 * because a message cannot be sent at the moment.
 */

import { cameThrough } from './graft.ts'
import {
  isSubFlow,
  type PinnedExecution,
  type PinnedFlow,
  type PinnedNode,
  type PinnedSubFlow,
} from './pinned-flow.ts'

/**
 * `done`: there is nothing to ask. `enrol`: the user has not got it yet, and may set it up here and now. `unreachable`: the
 * user has it, and the realm cannot ask for it now. `unavailable`: it is not for this user.
 */
export type Suitability = 'done' | 'ready' | 'enrol' | 'unreachable' | 'unavailable'

/** What has happened to a flow so far. */
export interface Progress {
  /** Paths of executions that were passed. */
  readonly done: readonly string[]
  /** What conditions said, by path. */
  readonly conditions: Readonly<Record<string, boolean>>
  /** The node that the user prefers, by the path of the first node of the choice. */
  readonly chosen: Readonly<Record<string, string>>
}

export interface Judge {
  isCondition(authenticator: string): boolean
  holds(condition: PinnedExecution): Promise<boolean>
  suits(execution: PinnedExecution): Promise<Suitability>
}

export interface Option {
  readonly execution: PinnedExecution
  /** Of the choice that it belongs to, and the node to choose. */
  readonly choice: string
  readonly node: string
}

export interface Question {
  readonly kind: 'ask'
  readonly execution: PinnedExecution
  readonly enrol: boolean
  /** What could be done instead. */
  readonly others: readonly Option[]
}

export interface Stuck {
  readonly kind: 'stuck'
  /** What would be asked for, could it be. */
  readonly unreachable?: PinnedExecution | undefined
}

export type NextExecution = Question | { readonly kind: 'passed' } | Stuck

const passed: NextExecution = { kind: 'passed' }
const stuck: NextExecution = { kind: 'stuck' }

type Group = PinnedNode | readonly PinnedNode[]

/** Alternatives that stand next to each other, as one. */
const groupsOf = (nodes: readonly PinnedNode[]): Group[] => {
  const groups: Group[] = []
  let choice: PinnedNode[] | undefined
  for (const node of nodes) {
    if (node.requirement !== 'ALTERNATIVE') {
      choice = undefined
      groups.push(node)
    } else if (choice) choice.push(node)
    else {
      choice = [node]
      groups.push(choice)
    }
  }
  return groups
}

const isChoice = (group: Group): group is readonly PinnedNode[] => Array.isArray(group)

const hasPart = (node: PinnedNode, { done }: Progress): boolean =>
  isSubFlow(node) ? done.some((path) => path.startsWith(`${node.path}.`)) : done.includes(node.path)

/** The conditions are remembered in `learnt`, which the caller keeps with the sign-in. */
export const nextOf = async (
  flow: PinnedFlow,
  progress: Progress,
  judge: Judge,
): Promise<{ readonly next: NextExecution; readonly conditions: Progress['conditions'] }> => {
  const conditions: Record<string, boolean> = { ...progress.conditions }

  const holds = async (condition: PinnedExecution): Promise<boolean> => {
    const known = conditions[condition.path]
    if (known !== undefined) return known
    const answer = await judge.holds(condition)
    conditions[condition.path] = answer
    return answer
  }

  const isActive = (node: PinnedNode): boolean => node.requirement !== 'DISABLED'
  const isCondition = (node: PinnedNode): node is PinnedExecution =>
    !isSubFlow(node) && judge.isCondition(node.authenticator)

  const ofExecution = async (execution: PinnedExecution): Promise<NextExecution> => {
    if (progress.done.includes(execution.path)) return passed
    const suitability = await judge.suits(execution)
    if (suitability === 'done') return passed
    if (suitability === 'unreachable') return { kind: 'stuck', unreachable: execution }
    if (execution.requirement === 'CONDITIONAL' && suitability !== 'ready') return passed
    if (suitability === 'unavailable') return stuck
    return { kind: 'ask', execution, enrol: suitability === 'enrol', others: [] }
  }

  const ofSubFlow = async ({ requirement, nodes }: PinnedSubFlow): Promise<NextExecution> => {
    if (requirement === 'CONDITIONAL')
      for (const node of nodes.filter(isActive))
        if (isCondition(node) && !(await holds(node))) return passed
    return ofNodes(nodes)
  }

  const ofNode = (node: PinnedNode): Promise<NextExecution> =>
    isSubFlow(node) ? ofSubFlow(node) : ofExecution(node)

  const ofChoice = async (nodes: readonly PinnedNode[]): Promise<NextExecution> => {
    const choice = nodes[0]?.path ?? ''
    const asked: { readonly node: PinnedNode; readonly question: Question }[] = []
    let unreachable: PinnedExecution | undefined
    // What was begun comes first: once it is passed, nothing needs to be known about the others.
    const begun = new Map<PinnedNode, NextExecution>()
    for (const node of nodes.filter((one) => hasPart(one, progress))) {
      const next = await ofNode(node)
      if (next.kind === 'passed') return passed
      begun.set(node, next)
    }
    for (const node of nodes) {
      // An alternative in which everything was skipped has proved nothing.
      const next = begun.get(node) ?? (await ofNode(node))
      if (next.kind === 'ask') asked.push({ node, question: next })
      if (next.kind === 'stuck') unreachable ??= next.unreachable
    }
    // What follows an identity provider is set up, not traded for a password that the person may not have.
    const ready = asked.filter(
      ({ node, question }) => !question.enrol || cameThrough(node.path, progress.done),
    )
    const open = ready.length > 0 || unreachable ? ready : asked.slice(0, 1)
    const preferred =
      open.find(({ node }) => hasPart(node, progress)) ??
      open.find(({ node }) => node.path === progress.chosen[choice]) ??
      open[0]
    if (!preferred) return { kind: 'stuck', unreachable }
    const options = open
      .filter((one) => one !== preferred)
      .map(({ node, question: { execution } }) => ({ execution, choice, node: node.path }))
    return { ...preferred.question, others: [...preferred.question.others, ...options] }
  }

  const ofNodes = async (nodes: readonly PinnedNode[]): Promise<NextExecution> => {
    const steps = nodes.filter((node) => isActive(node) && !isCondition(node))
    for (const group of groupsOf(steps)) {
      const next = await (isChoice(group) ? ofChoice(group) : ofNode(group))
      if (next.kind !== 'passed') return next
    }
    return passed
  }

  return { next: await ofNodes(flow.nodes), conditions }
}
