/** The order of changes, as properties of generated graphs. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOrder } from '#cli/planning/order/order.ts'

interface Graph {
  readonly size: number
  readonly must: readonly (readonly [number, number])[]
  readonly should: readonly (readonly [number, number])[]
}

/** Edges that must hold lead from smaller to larger labels, so they never lead in a circle; the others may. */
const graphs: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 12 }).chain((size) => {
  const node = fc.integer({ min: 0, max: size - 1 })
  const edges = fc.array(fc.tuple(node, node), { maxLength: 25 })
  return fc.record({
    size: fc.constant(size),
    must: edges.map((list) =>
      list.map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a])).filter(([a, b]) => a !== b),
    ),
    should: edges,
  })
})

/** Labels are shuffled over the indexes, so that the order of the input does not help. */
const sorted = ({ size, must, should }: Graph): number[] => {
  const labels = Array.from({ length: size }, (_, i) => (i * 5 + 3) % size)
  const items = new Set(labels).size === size ? labels : [...labels.keys()]
  const before = (edges: Graph['must'], label: number): number[] =>
    edges.filter(([, to]) => to === label).map(([from]) => items.indexOf(from))
  return [
    ...inOrder(items, (label) => ({ must: before(must, label), should: before(should, label) })),
  ]
}

describe('the order of changes', () => {
  it('has every item once, and what must come first first, whatever else leads in a circle', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const order = sorted(graph)
        expect(order.toSorted((a, b) => a - b)).toEqual([...Array(graph.size).keys()])
        for (const [from, to] of graph.must)
          expect(order.indexOf(from)).toBeLessThan(order.indexOf(to))
      }),
    )
  })

  it('gives up nothing where nothing leads in a circle', () => {
    const acyclic = graphs.map((graph) => ({
      ...graph,
      should: graph.should.filter(([from, to]) => from < to),
    }))
    fc.assert(
      fc.property(acyclic, (graph) => {
        const order = sorted(graph)
        for (const [from, to] of [...graph.must, ...graph.should])
          expect(order.indexOf(from)).toBeLessThan(order.indexOf(to))
      }),
    )
  })

  it('leaves what is free in the order in which it was given', () => {
    expect(inOrder(['a', 'b', 'c'], () => ({ must: [], should: [] }))).toEqual(['a', 'b', 'c'])
  })

  it('gives up only the circle, and not what waits for it', () => {
    const before: Record<string, number[]> = { a: [2], b: [1], c: [2] }
    // a waits for c; b and c wait for each other; the list is [a, b, c].
    const order = inOrder(['a', 'b', 'c'], (item) => ({
      must: [],
      should: item === 'b' ? [2] : item === 'c' ? [1] : (before[item] ?? []),
    }))
    expect(order.indexOf('a')).toBeGreaterThan(order.indexOf('c'))
  })
})
