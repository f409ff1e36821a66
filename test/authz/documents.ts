/** Documents of authorization services with their defaults. */

import {
  AuthzPermission,
  type AuthzPermissionDoc,
} from '#schemas/kinds/authorization/authz-permission.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import {
  AuthzResource,
  type AuthzResourceDoc,
} from '#schemas/kinds/authorization/authz-resource.ts'
import { complete } from '#schemas/normalize.ts'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'

/** Optional fields of generated documents may be undefined. */
type Given<Doc> = { readonly [Field in keyof Doc]?: Doc[Field] | undefined }

const defined = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

export const policyOf = (name: string, fields: Given<AuthzPolicyDoc>): AuthzPolicyDoc =>
  complete(AuthzPolicy, { ...defined(fields), name }) as unknown as AuthzPolicyDoc

export const permissionOf = (name: string, fields: Given<AuthzPermissionDoc>): AuthzPermissionDoc =>
  complete(AuthzPermission, { ...defined(fields), name }) as unknown as AuthzPermissionDoc

export const resourceOf = (name: string, fields: Given<AuthzResourceDoc>): Resource => ({
  id: `id-${name}`,
  doc: complete(AuthzResource, { ...defined(fields), name }) as unknown as AuthzResourceDoc,
})
