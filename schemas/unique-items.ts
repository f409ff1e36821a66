/**
 * `uniqueItems` in time linear in the length of the list. Ajv's own compares every object with every other one, so that a
 * body of 135 kB held up the server for a minute (CWE-407).
 */

import type { Code, CodeKeywordDefinition, Name, _ as tag } from 'ajv/dist/2020.js'

/** Of Ajv, from its factory. */
type Tag = typeof tag

/** The same for equal values, in whatever order the members of an object stand. */
const textOf = (_: Tag, item: Name): Code => {
  const inOrder = _`(name, inner) => inner !== null && typeof inner == "object" && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1)) : inner`
  return _`typeof ${item} == "object" ? JSON.stringify(${item}, ${inOrder}) : typeof ${item} + ${item}`
}

export const uniqueItems = (_: Tag): CodeKeywordDefinition => ({
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: {
    message: ({ params: { i, j } }) =>
      _`"must NOT have duplicate items (items ## " + ${j} + " and " + ${i} + " are identical)"`,
    params: ({ params: { i, j } }) => _`{i: ${i}, j: ${j}}`,
  },
  code: (context) => {
    const { gen, data, schema } = context
    if (!schema) return
    const i = gen.let('i', _`${data}.length`)
    const j = gen.let('j')
    const valid = gen.let('valid', true)
    context.setParams({ i, j })
    const places = gen.const('places', _`new Map()`)
    gen.for(_`;${i}--;`, () => {
      const item = gen.const('item', _`${data}[${i}]`)
      const text = gen.const('text', textOf(_, item))
      gen.assign(j, _`${places}.get(${text})`)
      gen.if(_`${j} !== undefined`, () => {
        context.error()
        gen.assign(valid, false).break()
      })
      gen.code(_`${places}.set(${text}, ${i})`)
    })
    context.ok(valid)
  },
})
