/**
 * What targets deviate in from RFC 7644, by the word that `compatibility` has for it. Each deviation is one that the vendor
 * documents (docs/decisions/scim-profiles.md).
 */

import type { ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'

export interface Profile {
  /** Changes are sent as PATCH (RFC 7644 §3.5.2), else as PUT of the whole resource. */
  readonly patches: boolean
  readonly hasGroups: boolean
  /** Both names are required: the username stands in for one that a user has not. */
  readonly needsNames: boolean
  /** Whether an attribute of a user can be changed after the create. */
  readonly isChangeable: (attribute: string) => boolean
  /** The target answers the `externalId` of a create as `id`, and finds users by that alone. */
  readonly idIsExternalId: boolean
  /** Lists are read by cursor (RFC 9865 §2), not by `startIndex`. */
  readonly hasCursors: boolean
  /** Whether groups are answered with their members. */
  readonly answersMembers: boolean
  /** Members are removed by a list of values, as RFC 7644 §3.5.2.2 has no form for, else one by one by a filter. */
  readonly removesMembersByValue: boolean
  /** Most requests a second where the target has no `rateLimit`. */
  readonly perSecond?: number
}

const usual: Profile = {
  patches: true,
  hasGroups: true,
  needsNames: false,
  isChangeable: () => true,
  idIsExternalId: false,
  hasCursors: false,
  answersMembers: true,
  removesMembersByValue: false,
}

const profiles: Readonly<Record<ScimTargetDoc['compatibility'], Profile>> = {
  default: usual,
  aws: {
    ...usual,
    needsNames: true,
    hasCursors: true,
    answersMembers: false,
    removesMembersByValue: true,
  },
  slack: { ...usual, isChangeable: (attribute) => attribute !== 'externalId', perSecond: 3 },
  gitlab: {
    ...usual,
    hasGroups: false,
    needsNames: true,
    isChangeable: (attribute) => attribute === 'active',
    idIsExternalId: true,
  },
  put: { ...usual, patches: false },
}

export const profileOf = (compatibility: ScimTargetDoc['compatibility']): Profile =>
  profiles[compatibility]
