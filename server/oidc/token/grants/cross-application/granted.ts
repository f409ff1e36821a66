/**
 * The scopes and resources that an ID-JAG gives: those that it names and the client may have; the request may name fewer, never
 * others (RFC 6749 §3.3, RFC 8707 §2.2). Without `scope` in it the client has its default scopes alone.
 */

import { planScope } from '#schemas/access/admin-access.ts'
import { registeredForm } from '#server/tokens/access/audience.ts'
import { rememberedScopes } from '#server/tokens/access/high-risk.ts'
import { allowedScopes, offlineScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { invalidGrant, invalidScope, invalidTarget } from '../../../errors.ts'
import type { GrantContext } from '../grant.ts'

const malformed = (claim: string) =>
  invalidGrant('the assertion is not good', { detail: `${claim} has another form` })

export const grantedScope = async (
  { issuer, client, form }: Pick<GrantContext, 'issuer' | 'client' | 'form'>,
  { scope }: Claims,
): Promise<readonly string[]> => {
  if (scope !== undefined && typeof scope !== 'string') throw malformed('scope')
  const { defaultScopes } = client.doc
  const named = scope === undefined ? defaultScopes : parseScope(scope)
  const allowed = allowedScopes(client)
  // The user confirms each use of a high-risk scope, and is not there.
  const granted = await rememberedScopes(
    issuer.view,
    named.filter((one) => allowed.has(one) && one !== offlineScope),
  )
  if (granted.length === 0 && named.length > 0)
    throw invalidScope('the client may have no scope of the assertion')
  const asked = form.get('scope')
  const wanted = asked === undefined ? granted : parseScope(asked)
  if (wanted.some((one) => !granted.includes(one)))
    throw invalidScope('a scope is not in the assertion, or the client may not have it')
  // A token without it could do more, not less.
  const kept = defaultScopes.filter((one) => one === planScope)
  return [...new Set([...wanted, ...kept])]
}

export const grantedResources = (
  { client, resources: asked }: Pick<GrantContext, 'client' | 'resources'>,
  { resource }: Claims,
): readonly string[] => {
  if (resource === undefined) return asked
  const named = [resource].flat()
  if (!named.every((one) => typeof one === 'string')) throw malformed('resource')
  const granted = named.flatMap((one) => registeredForm(client, one) ?? [])
  if (granted.length === 0)
    throw invalidTarget('the client may ask for no resource of the assertion')
  if (asked.some((one) => !granted.includes(one)))
    throw invalidTarget('the resource is not in the assertion')
  return asked.length > 0 ? asked : [...new Set(granted)]
}
