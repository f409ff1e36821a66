/**
 * Names of groups. The name of a group is a part of its path here, and in SCIM any text: a name that cannot be one, such as
 * "Sales/EMEA", is written without what a path does not take, and kept as an attribute of the group.
 */

import type { GroupDoc } from '#schemas/kinds/users/group.ts'
import { formats } from '#schemas/text/formats.ts'
import { isUuid } from '#server/platform/ids.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { invalidValue } from '../errors.ts'

const attribute = 'displayName'
const longest = 255

const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

export const displayNameOf = (group: StoredDocument): string =>
  contentOf<GroupDoc>(group).attributes[attribute]?.[0] ?? lastPart(group.key)

/** What the document of the group says of its name. */
export const namedGroup = (
  displayName: string,
): { readonly name: string; readonly attribute: readonly string[] | undefined } => {
  const plain = displayName.trim().replaceAll('/', '∕')
  const name = isUuid(plain) ? `urn:uuid:${plain}` : plain
  if (name.length > longest) throw invalidValue(`${attribute} has more than ${longest} characters`)
  if (formats['segment']?.test(name) !== true)
    throw invalidValue(`${attribute} must have no control characters, and not be "." or ".."`)
  return { name, attribute: name === displayName ? undefined : [displayName] }
}

export const withDisplayName = (
  before: Partial<GroupDoc>,
  displayName: string,
): Partial<GroupDoc> => {
  const { name, attribute: kept } = namedGroup(displayName)
  const { [attribute]: _, ...attributes } = before.attributes ?? {}
  return {
    ...before,
    name,
    attributes: kept ? { ...attributes, [attribute]: [...kept] } : attributes,
  }
}
