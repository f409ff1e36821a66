/** What targets deviate in from RFC 7644, by the word that `compatibility` has for it. */

import type { ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'

export interface Profile {
  /** Changes are sent as PATCH (RFC 7644 §3.5.2), else as PUT of the whole resource. */
  readonly patches: boolean
  readonly hasGroups: boolean
  /** Both names are required: the username stands in for one that a user has not. */
  readonly needsNames: boolean
}

const usual: Profile = { patches: true, hasGroups: true, needsNames: false }

const profiles: Readonly<Record<ScimTargetDoc['compatibility'], Profile>> = {
  default: usual,
  // AWS IAM Identity Center refuses users without both names, and more than 100 members in a request.
  aws: { ...usual, needsNames: true },
  slack: usual,
  // SCIM of GitLab groups has users alone.
  gitlab: { ...usual, hasGroups: false },
  put: { ...usual, patches: false },
}

export const profileOf = (compatibility: ScimTargetDoc['compatibility']): Profile =>
  profiles[compatibility]
