/**
 * The body that a gateway is sent, from a template. The template is read first and the values are put into what was
 * read, so that no value can leave its place, whatever quotes, signs or tags it holds.
 */

import { isObject } from '../json-schema.ts'
import type { FieldError } from '../problems.ts'
import { fillPlaceholders, placeholderErrors } from '../text/placeholders.ts'

/** What a gateway's template may ask for. */
const gatewayPlaceholders = ['to', 'from', 'fromName', 'subject', 'text', 'html'] as const

export type GatewayValues = Readonly<Record<(typeof gatewayPlaceholders)[number], string>>

export const defaultContentType = 'application/json'

const defaultBody = JSON.stringify(
  Object.fromEntries(gatewayPlaceholders.map((name) => [name, `{{${name}}}`])),
)

type Fill = (text: string) => string
type Format = (template: string, fill: Fill) => string

const filledJson = (value: unknown, fill: Fill): unknown => {
  if (typeof value === 'string') return fill(value)
  if (Array.isArray(value)) return value.map((item) => filledJson(item, fill))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, filledJson(item, fill)]),
  )
}

const markup: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For texts and attributes of HTML and XML. */
export const escapeMarkup = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => markup[sign] ?? '')

const formats: readonly (readonly [RegExp, Format])[] = [
  [
    /^application\/(?:[\w.+-]+\+)?json$/,
    (template, fill) => JSON.stringify(filledJson(JSON.parse(template), fill)),
  ],
  [
    /^application\/x-www-form-urlencoded$/,
    (template, fill) => {
      const filled = new URLSearchParams()
      for (const [name, value] of new URLSearchParams(template)) filled.append(name, fill(value))
      return filled.toString()
    },
  ],
  [
    /^(?:application|text)\/(?:[\w.+-]+\+)?xml$/,
    (template, fill) => template.replace(/\{\{[^{}]*\}\}/g, (mark) => escapeMarkup(fill(mark))),
  ],
  [/^text\/plain$/, (template, fill) => fill(template)],
]

const formatOf = (contentType: string): Format | undefined => {
  const [mediaType = ''] = contentType.toLowerCase().split(';')
  return formats.find(([pattern]) => pattern.test(mediaType.trim()))?.[1]
}

interface GatewayBody {
  readonly bodyTemplate?: string | undefined
  readonly contentType?: string | undefined
}

/** What is wrong with a template, before anything is sent. */
export const gatewayBodyErrors = ({
  bodyTemplate,
  contentType = defaultContentType,
}: GatewayBody): FieldError[] => {
  const format = formatOf(contentType)
  if (format === undefined)
    return [
      {
        field: '/config/contentType',
        code: 'enum',
        message: 'must be JSON, a form, XML or text/plain, so that values can be escaped',
      },
    ]
  if (bodyTemplate === undefined)
    return contentType === defaultContentType
      ? []
      : [
          {
            field: '/config/bodyTemplate',
            code: 'required',
            message: `is required for ${contentType}`,
          },
        ]
  try {
    format(bodyTemplate, (text) => text)
  } catch {
    const message = 'must be JSON, with placeholders inside of its texts: {"to": "{{to}}"}'
    return [{ field: '/config/bodyTemplate', code: 'format', message }]
  }
  const names: readonly string[] = gatewayPlaceholders
  return placeholderErrors(
    '/config/bodyTemplate',
    bodyTemplate,
    (name) => names.includes(name),
    names.join(', '),
  )
}

/** The template has no errors. */
export const gatewayBody = (
  { bodyTemplate = defaultBody, contentType = defaultContentType }: GatewayBody,
  values: GatewayValues,
): string => {
  const byName: Readonly<Record<string, string>> = values
  const fill: Fill = (text) => fillPlaceholders(text, (name) => byName[name])
  return formatOf(contentType)?.(bodyTemplate, fill) ?? ''
}
