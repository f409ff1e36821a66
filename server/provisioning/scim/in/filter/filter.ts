/** Filters of SCIM as a tree (RFC 7644 §3.4.2.2). */

export const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]

/** `urn:…:User:name.familyName`: the schema where one is given, the attribute, and a part of it. */
export interface AttributePath {
  readonly schema: string | undefined
  readonly name: string
  readonly sub: string | undefined
}

export type Literal = string | number | boolean | null

export interface Compare {
  readonly op: Comparison
  readonly path: AttributePath
  readonly value: Literal
}

export type Filter =
  | { readonly op: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly op: 'not'; readonly term: Filter }
  | { readonly op: 'pr'; readonly path: AttributePath }
  /** Some value of the list fulfils the filter, whose paths are those of the value. */
  | { readonly op: 'some'; readonly path: AttributePath; readonly filter: Filter }
  | Compare

export const pathText = ({ schema, name, sub }: AttributePath): string =>
  `${schema === undefined ? '' : `${schema}:`}${name}${sub === undefined ? '' : `.${sub}`}`

const written = /^(?:(urn:[\w:.-]+):)?([A-Za-z$][\w$-]*)(?:\.([A-Za-z$][\w$-]*))?$/i

/** Nothing where the text is no attribute path (RFC 7644 §3.10). */
export const attributePath = (text: string): AttributePath | undefined => {
  const [, schema, name, sub] = written.exec(text) ?? []
  return name === undefined ? undefined : { schema, name, sub }
}
