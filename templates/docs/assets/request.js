/** Sends a GET as the session of this browser and shows what comes back. Nothing here can change anything. */

import { el } from './elements.js'

/** More than this is not worth scrolling through. */
const longest = 200_000

const shownHeaders = [
  'content-type',
  'etag',
  'link',
  'x-total-count',
  'x-request-id',
  'retry-after',
]

const pretty = (text, type) => {
  const whole = type.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text
  return whole.length > longest
    ? `${whole.slice(0, longest)}\n… (${whole.length} characters)`
    : whole
}

const inputFor = (parameter, operationId, defaults) => {
  const id = `${operationId}-${parameter.name}`
  const input = el('input', {
    id,
    name: parameter.name,
    value: defaults[parameter.name] ?? '',
    required: parameter.required === true,
    autocomplete: 'off',
    spellcheck: false,
  })
  const label = el(
    'label',
    { htmlFor: id },
    el('code', { textContent: parameter.name }),
    ` (${parameter.in})`,
  )
  return { parameter, input, row: el('div', { className: 'parameter' }, label, input) }
}

const urlFrom = (path, inputs) => {
  const query = new URLSearchParams()
  let url = path
  for (const { parameter, input } of inputs) {
    const value = input.value
    if (parameter.in === 'path') url = url.replace(`{${parameter.name}}`, encodeURIComponent(value))
    else if (value !== '') query.append(parameter.name, value)
  }
  return query.size === 0 ? url : `${url}?${query}`
}

const showAnswer = async (output, url, response) => {
  const type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  const lines = shownHeaders
    .filter((name) => response.headers.has(name))
    .map((name) => `${name}: ${response.headers.get(name)}`)
  output.replaceChildren(
    el(
      'p',
      {},
      el('strong', {
        className: response.ok ? 'good' : 'bad',
        textContent: `${response.status} ${response.statusText}`,
      }),
      ' ',
      el('code', { textContent: `GET ${url}` }),
    ),
    el('pre', { className: 'headers', textContent: lines.join('\n'), tabIndex: 0 }),
    el('pre', {
      className: 'body',
      textContent: text === '' ? '(empty)' : pretty(text, type),
      tabIndex: 0,
    }),
  )
  if (response.status === 401)
    output.prepend(
      el('p', {
        className: 'hint',
        textContent:
          'This browser has no session in this realm: use “Sign in” above, then send again.',
      }),
    )
}

export const requestForm = (operation, defaults) => {
  const inputs = operation.parameters
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map((parameter) => inputFor(parameter, operation.operationId, defaults()))
  const output = el('div', { className: 'answer', role: 'status' })
  const send = el('button', { type: 'submit', textContent: 'Send' })
  const form = el(
    'form',
    { className: 'try', ariaLabel: `Send ${operation.operationId}` },
    ...inputs.map(({ row }) => row),
    send,
    output,
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const url = urlFrom(operation.path, inputs)
    send.disabled = true
    try {
      const response = await fetch(url, { credentials: 'same-origin', redirect: 'manual' })
      await showAnswer(output, url, response)
    } catch (error) {
      output.replaceChildren(
        el('p', { className: 'bad', textContent: `No answer: ${error.message}` }),
      )
    } finally {
      send.disabled = false
    }
  })
  return form
}
