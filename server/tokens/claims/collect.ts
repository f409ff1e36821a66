/**
 * Which mappers shape the tokens of a client, and what they make: its own, those of the scopes that were granted, and
 * what standard scopes mean. No mapper can touch a claim that the protocol itself sets.
 */

import { isObject } from '#schemas/json-schema.ts'
import { ClientMapper, type ClientMapperDoc } from '#schemas/kinds/clients/client-mapper.ts'
import { ClientScope, type ClientScopeDoc } from '#schemas/kinds/clients/client-scope.ts'
import { Claim, type ClaimDoc } from '#schemas/kinds/tokens/claim.ts'
import { own } from '#schemas/own.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { rememberPerClient, type TokenClient } from '../client.ts'
import { claimMapper } from './index.ts'
import type { ClaimMapper, Claims, MappedClaim, MapperConfig, MapperInput } from './mapper.ts'
import { type StandardClaim, standardScopes, userinfoScopes } from './standard.ts'

export type Target = 'access' | 'id' | 'userinfo'

export interface ActiveMapper {
  readonly mapper: ClaimMapper
  readonly config: MapperConfig
}

/** What the protocol sets: RFC 7519, RFC 9068, RFC 8693, RFC 7800, OIDC Core, and the permissions of an RPT. */
export const ofTheProtocol: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'typ',
  'client_id',
  'azp',
  'scope',
  'cnf',
  'act',
  'sid',
  'nonce',
  'acr',
  'amr',
  'auth_time',
  'at_hash',
  'c_hash',
  's_hash',
  'events',
  'active',
  'token_type',
  'nhi',
  'wif_iss',
  'wif_sub',
  'authorization',
])

const targets: Readonly<Record<Target, string>> = {
  access: 'access.token.claim',
  id: 'id.token.claim',
  userinfo: 'userinfo.token.claim',
}

const remembered = rememberPerClient<readonly ActiveMapper[]>()

const active = ({ protocolMapper, config }: ClaimDoc | ClientMapperDoc): ActiveMapper[] => {
  const mapper = claimMapper(protocolMapper)
  return mapper ? [{ mapper, config }] : []
}

const standard = ({ mapper, config }: StandardClaim): ActiveMapper[] =>
  active({ protocolMapper: mapper, config } as ClaimDoc)

/** `lean` leaves out what userinfo tells: claims and mappers that are configured stay. */
export const mappersOfScope = async (
  view: RealmView,
  scope: string,
  lean = false,
): Promise<ActiveMapper[]> => {
  const document = await view.get(ClientScope.kind, scope)
  if (!document) return []
  const isLeftOut = lean && userinfoScopes.has(scope)
  const found: ActiveMapper[] = isLeftOut
    ? []
    : (own(standardScopes, scope) ?? []).flatMap(standard)
  for (const name of contentOf<ClientScopeDoc>(document).claims) {
    const claim = await view.get(Claim.kind, name)
    if (claim) found.push(...active(contentOf<ClaimDoc>(claim)))
  }
  return found
}

/** In the order in which they apply: a later one wins. */
export const mappersFor = (
  view: RealmView,
  client: TokenClient,
  scopes: readonly string[],
  lean = false,
): Promise<readonly ActiveMapper[]> =>
  remembered(view, client, [lean ? 'lean' : '', ...scopes].join(' '), async () => {
    const all: ActiveMapper[] = []
    for (const scope of scopes) all.push(...(await mappersOfScope(view, scope, lean)))
    for (const document of await view.list(ClientMapper.kind))
      if (document.parentId === client.id) all.push(...active(contentOf<ClientMapperDoc>(document)))
    return all
  })

const place = (into: Record<string, unknown>, { path, value }: MappedClaim): void => {
  if (path.some((part) => part === '' || part === '__proto__')) return
  let parent = into
  for (const part of path.slice(0, -1)) {
    const inner = parent[part]
    const next: Record<string, unknown> = isObject(inner) ? inner : {}
    parent[part] = next
    parent = next
  }
  const name = path.at(-1)
  if (name !== undefined) parent[name] = value
}

/** On top of `first`, which is written to: a mapper for a member of it leaves the others. */
export const collectClaims = (
  mappers: readonly ActiveMapper[],
  target: Target,
  input: Omit<MapperInput, 'config'>,
  first: Claims = {},
): Claims => {
  const claims: Record<string, unknown> = first
  for (const { mapper, config } of mappers) {
    if (config[targets[target]] === 'false') continue
    for (const claim of mapper.claims?.({ ...input, config }) ?? [])
      if (!ofTheProtocol.has(claim.path[0] ?? '')) place(claims, claim)
  }
  return claims
}

export const collectAudiences = (
  mappers: readonly ActiveMapper[],
  input: Omit<MapperInput, 'config'>,
): string[] =>
  mappers.flatMap(({ mapper, config }) =>
    config[targets.access] === 'false' ? [] : (mapper.audiences?.({ ...input, config }) ?? []),
  )
