/** Lists the operations of the description by group; what an operation takes and answers is made when it is opened. */

import { chip, el, lazyDetails } from './elements.js'
import { requestForm } from './request.js'
import { createResolver, schemaTitle, showSchema } from './schema.js'

const realm = document.querySelector('#realm')
const find = document.querySelector('#find')
const state = document.querySelector('#state')

const defaults = () => ({ realm: realm.value })

const heading = (text) => el('h3', { textContent: text })

const contentOf = (part, resolve) =>
  Object.entries(part?.content ?? {}).map(([type, { schema = {} }]) =>
    el(
      'div',
      { className: 'content' },
      el(
        'p',
        {},
        el('code', { textContent: type }),
        ' ',
        el('span', { className: 'type', textContent: schemaTitle(schema, resolve) }),
      ),
      showSchema(schema, resolve),
    ),
  )

const parametersOf = (operation, resolve) => {
  const { parameters } = operation
  if (parameters.length === 0) return []
  const schema = {
    properties: Object.fromEntries(
      parameters.map((one) => [one.name, { description: one.description, ...resolve(one.schema) }]),
    ),
    required: parameters.filter((one) => one.required).map((one) => one.name),
  }
  return [heading('Parameters'), showSchema(schema, resolve)]
}

const repliesOf = (operation, resolve) => [
  heading('Replies'),
  ...Object.entries(operation.responses).map(([status, reply]) => {
    const whole = resolve(reply)
    const summary = el(
      'summary',
      {},
      chip(status, status < '400' ? 'good' : 'bad'),
      ` ${whole.description}`,
    )
    return lazyDetails(summary, () => contentOf(whole, resolve), { className: 'reply' })
  }),
]

/** What an operation leaves in the audit trail. */
const eventsOf = (operation) => {
  const events = operation['x-audit-events'] ?? []
  return events.length === 0
    ? []
    : [el('p', { className: 'about', textContent: `Records ${events.join(', ')}.` })]
}

const insideOf = (operation, resolve) => {
  const parts = eventsOf(operation)
  if (operation.method === 'GET') parts.push(heading('Try it'), requestForm(operation, defaults))
  parts.push(...parametersOf(operation, resolve))
  if (operation.requestBody)
    parts.push(heading('Body'), ...contentOf(operation.requestBody, resolve))
  parts.push(...repliesOf(operation, resolve))
  return [el('div', { className: 'inside' }, ...parts)]
}

const showOperation = (operation, resolve) => {
  const { method, path, summary, operationId } = operation
  const permission = operation['x-permission']
  const head = el(
    'summary',
    {},
    el('span', { className: `method ${method.toLowerCase()}`, textContent: method }),
    el('code', { className: 'path', textContent: path }),
    el('span', { className: 'told', textContent: summary ?? '' }),
    permission ? chip(permission) : chip('anonymous', 'good'),
  )
  return lazyDetails(head, () => insideOf(operation, resolve), {
    className: 'operation',
    id: operationId,
  })
}

const operationsIn = ({ paths }, resolve) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      ...operation,
      parameters: (operation.parameters ?? []).map(resolve),
      path,
      method: method.toUpperCase(),
    })),
  )

/** Groups of operations, each with the words it is found by. */
const show = (description) => {
  const resolve = createResolver(description)
  const operations = operationsIn(description, resolve)
  const groups = description.tags.map(({ name }) => {
    const entries = operations
      .filter(({ tags }) => tags.includes(name))
      .map((operation) => ({
        element: showOperation(operation, resolve),
        words: [
          operation.method,
          operation.path,
          operation.summary,
          operation.operationId,
          operation['x-permission'],
        ]
          .join(' ')
          .toLowerCase(),
      }))
    const section = el(
      'section',
      { id: `group-${name}` },
      el('h2', { textContent: name }),
      ...entries.map(({ element }) => element),
    )
    const link = el(
      'a',
      { href: `#group-${name}` },
      name,
      ' ',
      el('span', { className: 'count', textContent: String(entries.length) }),
    )
    return { section, link, entries }
  })
  document.querySelector('#tags').append(...groups.map(({ link }) => link))
  document.querySelector('#operations').append(...groups.map(({ section }) => section))
  document.querySelector('#version').textContent = description.info.version
  return { groups, total: operations.length }
}

const filter = ({ groups, total }) => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
  let left = 0
  for (const { section, link, entries } of groups) {
    let here = 0
    for (const { element, words: own } of entries) {
      element.hidden = !words.every((word) => own.includes(word))
      if (!element.hidden) here += 1
    }
    section.hidden = here === 0
    link.hidden = here === 0
    left += here
  }
  state.textContent = words.length === 0 ? `${total} operations` : `${left} of ${total} operations`
}

/** The operation that the address names is opened. */
const openNamed = () => {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (named instanceof HTMLDetailsElement) {
    named.open = true
    named.scrollIntoView()
  }
}

const start = async () => {
  const response = await fetch('/v3/api-docs')
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  const shown = show(await response.json())
  filter(shown)
  find.addEventListener('input', () => filter(shown))
  window.addEventListener('hashchange', openNamed)
  openNamed()
}

document.querySelector('#tools').addEventListener('submit', (event) => event.preventDefault())
realm.addEventListener('input', () => {
  document.querySelector('#sign-in').href = `/realms/${encodeURIComponent(realm.value)}/login`
})
start().catch((error) => {
  state.textContent = `The description cannot be shown: ${error.message}`
})
