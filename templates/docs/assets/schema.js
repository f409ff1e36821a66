/** Shows a JSON Schema as a list of fields with their rules; what is nested opens on demand. */

import { chip, el, lazyDetails } from './elements.js'

const rules = [
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'uniqueItems',
  'default',
]

const nameOf = (reference) => reference.split('/').at(-1)

/** Follows references into the components. */
export const createResolver = (document) => (part) => {
  let found = part
  while (found?.$ref !== undefined)
    found = found.$ref
      .slice(2)
      .split('/')
      .reduce((inner, key) => inner?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  return found ?? {}
}

const typeOf = (schema, resolve) => {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  const type = [schema.type ?? 'any'].flat().join(' or ')
  return schema.items === undefined ? type : `${type} of ${typeOf(schema.items, resolve)}`
}

const ruleText = (schema) => {
  const told = rules
    .filter((rule) => schema[rule] !== undefined)
    .map((rule) => `${rule} ${JSON.stringify(schema[rule])}`)
  const values = schema.enum ?? schema.items?.enum
  if (values !== undefined)
    told.push(`one of ${values.map((one) => JSON.stringify(one)).join(', ')}`)
  return told.join(' · ')
}

/** The schemas below one: of an object its fields, of a list what it holds, of a map what it holds. */
const innerOf = (schema, resolve) => {
  const whole = resolve(schema)
  if (whole.properties !== undefined || whole.oneOf !== undefined) return whole
  if (whole.items !== undefined) return innerOf(whole.items, resolve)
  return typeof whole.additionalProperties === 'object'
    ? innerOf(whole.additionalProperties, resolve)
    : undefined
}

const field = (name, schema, required, resolve) => {
  const whole = resolve(schema)
  const head = el(
    'p',
    { className: 'field' },
    el('code', { className: 'name', textContent: name }),
    el('span', { className: 'type', textContent: typeOf(schema, resolve) }),
    required ? chip('required', 'strong') : undefined,
    whole.readOnly ? chip('read-only') : undefined,
    whole.writeOnly ? chip('write-only') : undefined,
  )
  const item = el('li', {}, head)
  if (whole.description)
    item.append(el('p', { className: 'about', textContent: whole.description }))
  const told = ruleText(whole)
  if (told !== '') item.append(el('p', { className: 'rules', textContent: told }))
  const inner = innerOf(schema, resolve)
  if (inner !== undefined)
    item.append(
      lazyDetails(el('summary', { textContent: `Fields of ${name}` }), () => [
        showSchema(inner, resolve),
      ]),
    )
  return item
}

export const showSchema = (schema, resolve) => {
  const inner = innerOf(schema, resolve)
  if (inner === undefined) {
    const whole = resolve(schema)
    return el('p', {
      className: 'rules',
      textContent: [typeOf(schema, resolve), ruleText(whole)].filter(Boolean).join(' · '),
    })
  }
  if (inner.oneOf !== undefined)
    return el(
      'ol',
      { className: 'fields' },
      ...inner.oneOf.map((one, i) =>
        el('li', {}, el('p', { textContent: `Form ${i + 1}` }), showSchema(one, resolve)),
      ),
    )
  const fields = Object.entries(inner.properties).map(([name, one]) =>
    field(name, one, inner.required?.includes(name) === true, resolve),
  )
  return el('ul', { className: 'fields' }, ...fields)
}

export const schemaTitle = (schema, resolve) => typeOf(schema, resolve)
