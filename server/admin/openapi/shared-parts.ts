/** Parameters and error responses that several operations have alike become components, to which the operations refer. */

import { isObject } from '#schemas/json-schema.ts'

type Json = Record<string, unknown>

/** The first of a name becomes the component; another one of that name keeps its place. */
export const createSharing = (section: string, components: Json) => {
  const texts = new Map(
    Object.entries(components).map(([name, part]) => [name, JSON.stringify(part)]),
  )
  return (name: string, part: unknown): unknown => {
    const text = JSON.stringify(part)
    const known = texts.get(name)
    if (known !== undefined && known !== text) return part
    texts.set(name, text)
    components[name] = part
    return { $ref: `#/components/${section}/${name}` }
  }
}

/** The name of an error response by its one schema, `scim-error-404`; of one that is a page, `page-404`. */
export const errorName = (status: string, response: unknown): string | undefined => {
  if (status < '400' || !isObject(response) || !isObject(response['content'])) return undefined
  const [[type, media] = [], ...others] = Object.entries(response['content'])
  if (others.length > 0) return undefined
  if (type === 'text/html') return `page-${status}`
  const schema = isObject(media) ? media['schema'] : undefined
  const ref = isObject(schema) ? schema['$ref'] : undefined
  return typeof ref === 'string' ? `${ref.split('/').at(-1)}-${status}` : undefined
}
