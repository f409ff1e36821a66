/** The `mapping` of a SCIM target: which attribute of SCIM (RFC 7643 §4) comes from which field of a user. */

/** An attribute of a SCIM user as a mapping names it. */
export interface ScimPath {
  /** Of an extension. */
  readonly schema: string | undefined
  readonly attribute: string
  /** Of an element of a list, such as `emails[type eq "work"].value`. */
  readonly type: string | undefined
  readonly sub: string | undefined
}

export const userFields = ['username', 'email', 'firstName', 'lastName', 'id'] as const

/** Leaves out an attribute that is sent otherwise. */
export const unmapped = 'none'

const pathForm =
  /^(?:(urn:[\w.:-]+):)?([A-Za-z][\w-]*)(?:\[type eq "([\w -]+)"\])?(?:\.([A-Za-z$][\w$-]*))?$/

/** Attributes that say whether and under which id the target has the user are not mapped. */
const kept: ReadonlySet<string> = new Set(['active', 'id', 'schemas', 'meta', 'groups', 'password'])

export const scimPathOf = (text: string): ScimPath | undefined => {
  const found = pathForm.exec(text)
  if (!found) return undefined
  const [, schema, attribute = '', type, sub] = found
  return kept.has(attribute) ? undefined : { schema, attribute, type, sub }
}

export const isScimSource = (text: string): boolean =>
  text === unmapped ||
  (userFields as readonly string[]).includes(text) ||
  /^attributes\..+$/.test(text)
