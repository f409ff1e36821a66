/**
 * Makes what the realm signs for clients: access tokens (RFC 9068) and id tokens (OIDC Core §2), and the claims of
 * userinfo. What follows from configuration alone is put into JSON once and signed many times.
 */

import { createHash } from 'node:crypto'
import type { SigningAlgorithm } from '#server/keys/algorithms.ts'
import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import { createIdSource, newId } from '#server/platform/ids.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import { audienceOf, ownAudiences } from './access/audience.ts'
import {
  type OrganizationWish,
  organizationOfSession,
  organizationScope,
} from './access/organizations.ts'
import {
  type HeldRoles,
  noRoles,
  rolesOfServiceAccount,
  rolesOfUser,
  visibleTo,
} from './access/roles.ts'
import type { Agents } from './agents/agents.ts'
import { collectAudiences, collectClaims, mappersFor, type Target } from './claims/collect.ts'
import type { Claims, MappedUser, MapperInput } from './claims/mapper.ts'
import { namedClaims } from './claims/named.ts'
import { userinfoScopes } from './claims/standard.ts'
import { rememberPerClient, type TokenClient } from './client.ts'
import type { Issuer } from './issuers.ts'
import { signJwt } from './jwt.ts'
import { keycloakClaims, serviceAccountName } from './keycloak/claims.ts'
import { lifetimesOf } from './lifetimes.ts'
import { type Subjects, subjectOfClient } from './subject.ts'
import { tokenId, withUserHint } from './token-ids.ts'
import type { UserHints } from './user-hints.ts'

/** How and when the user was authenticated, and what that led to. */
export interface Authentication {
  /** The row in token_grants. */
  readonly grantId: string
  readonly sid?: string | undefined
  /** Epoch milliseconds. */
  readonly authTime?: number | undefined
  readonly acr?: string | undefined
  readonly amr?: readonly string[] | undefined
  /** The organization that the client asked for, by id. */
  readonly organization?: string | undefined
}

export interface AccessTokenRequest {
  readonly issuer: Issuer
  readonly client: TokenClient
  /** Undefined for a client without a user. */
  readonly user?: UserRow | undefined
  /** Whose service account it is about, where it is not the client's own. */
  readonly account?: TokenClient | undefined
  readonly scope: readonly string[]
  /** Resources that were asked for, already found to be allowed (RFC 8707). */
  readonly resources?: readonly string[] | undefined
  readonly authentication?: Authentication | undefined
  /** Thumbprint of the key that the token is bound to (RFC 9449 §6.1). */
  readonly jkt?: string | undefined
  /** What the server itself adds: `act`, `may_act`, `nhi` … */
  readonly claims?: Claims | undefined
  /** The grants of those who act for the subject: the token ends with each of them too. */
  readonly actorGrantIds?: readonly string[] | undefined
  /** The state of the workload credential that it is issued for: the token ends when that changes. */
  readonly workload?: string | undefined
  /** Seconds, where it is not the client's or the realm's. */
  readonly lifespan?: number | undefined
}

export interface MintedToken {
  readonly token: string
  readonly jti: string
  /** Seconds. */
  readonly expiresIn: number
}

export interface IdTokenRequest {
  readonly issuer: Issuer
  readonly client: TokenClient
  readonly user: UserRow
  readonly scope: readonly string[]
  readonly authentication: Authentication
  readonly nonce?: string | undefined
  /** For `at_hash` and `c_hash` (OIDC Core §3.1.3.6, §3.3.2.11). */
  readonly accessToken?: string | undefined
  readonly code?: string | undefined
  /** Names of claims that the request asks for one by one (OIDC Core §5.5). */
  readonly requestedClaims?: readonly string[] | undefined
  /** What the server itself adds, as to the access token. */
  readonly claims?: Claims | undefined
}

export type UserinfoRequest = Pick<
  IdTokenRequest,
  'issuer' | 'client' | 'user' | 'scope' | 'requestedClaims'
> & { readonly authentication?: OrganizationWish | undefined }

export interface Mint {
  accessToken(request: AccessTokenRequest): Promise<MintedToken>
  idToken(request: IdTokenRequest): Promise<string>
  /** What userinfo answers, `sub` included; signing it is the endpoint's. */
  userinfo(request: UserinfoRequest): Promise<Claims>
  /** The `sub` of all of them; a SubjectMissingError where the user has none. */
  subject(issuer: Issuer, client: TokenClient, user: UserRow): Promise<string>
  /**
   * Any other claims, signed for the client by its own key or the realm's (logout tokens, signed userinfo, JARM); as its
   * id tokens are, unless `alg` says otherwise.
   */
  sign(
    issuer: Issuer,
    client: TokenClient,
    typ: Parameters<typeof signJwt>[1],
    claims: Claims,
    alg?: SigningAlgorithm,
  ): Promise<string>
}

export interface MintParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keys: RealmKeys
  readonly subjects: Subjects
  readonly agents: Pick<Agents, 'of' | 'insist'>
  readonly userHints: Pick<UserHints, 'seal'>
}

/** The left half of the digest (OIDC Core §3.1.3.6); RS256 and PS256 both hash with SHA-256. */
const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')

const mappedUser = (row: UserRow): MappedUser => ({
  id: row.id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  ...fieldsOf(row),
})

const roleClaims = ({ realm, clients }: HeldRoles): Claims => ({
  ...(realm.length > 0 ? { realm_access: { roles: realm } } : {}),
  ...(clients.size > 0
    ? {
        resource_access: Object.fromEntries(
          [...clients].map(([clientId, roles]) => [clientId, { roles }]),
        ),
      }
    : {}),
})

const authenticationClaims = (authentication: Authentication | undefined): Claims => {
  if (!authentication) return {}
  const { sid, authTime, acr, amr } = authentication
  return {
    ...(sid === undefined ? {} : { sid }),
    ...(authTime === undefined ? {} : { auth_time: Math.floor(authTime / 1000) }),
    ...(acr === undefined ? {} : { acr }),
    ...(amr === undefined || amr.length === 0 ? {} : { amr }),
  }
}

/** JSON of an object without its closing brace, which is never empty here. */
const openJson = (claims: Claims): string => JSON.stringify(claims).slice(0, -1)

export const createMint = (parts: MintParts): Mint => {
  const { storage, clock, keys, subjects, agents, userHints } = parts

  const remembered = rememberPerClient<string>()
  /** They tell when a token was issued more exactly than `iat`, by the clock that `notBefore` is set by. */
  const newTokenId = createIdSource(clock)

  const inputOf = async (
    { view }: Issuer,
    client: TokenClient,
    user: UserRow | undefined,
    account = client,
  ): Promise<Omit<MapperInput, 'config'>> => {
    const held = user
      ? await rolesOfUser(storage, view, user.id)
      : await rolesOfServiceAccount(view, account)
    return { user: user && mappedUser(user), roles: visibleTo(client, held), client }
  }

  const mapped = async (
    target: Target,
    { issuer, client, user, scope, requestedClaims = [] }: UserinfoRequest,
  ): Promise<Claims> => {
    const isLean = target === 'id' && !issuer.settings.idTokenScopeClaims
    const ofScopes = await mappersFor(issuer.view, client, scope, isLean)
    const told = isLean ? scope.filter((one) => !userinfoScopes.has(one)) : scope
    const named = await namedClaims(issuer.view, client, told, requestedClaims)
    const mappers = [...named.flatMap((one) => one.mappers), ...ofScopes]
    const input = mappers.some(({ mapper }) => mapper.usesRoles)
      ? await inputOf(issuer, client, user)
      : { user: mappedUser(user), roles: noRoles, client }
    return collectClaims(mappers, target, input)
  }

  /** For which organization the user signed in, where the client may know. */
  const organizationClaim = async (
    { view }: Issuer,
    user: UserRow | undefined,
    scope: readonly string[],
    wish: OrganizationWish = {},
  ): Promise<Claims> => {
    if (!user || !scope.includes(organizationScope)) return {}
    const organization = await organizationOfSession(storage, view, user.id, wish)
    return organization ? { [organizationScope]: organization } : {}
  }

  /** Tells a token of an agent from one that a person uses. */
  const agentClaim = async ({ view }: Issuer, { clientId }: TokenClient): Promise<Claims> =>
    (await agents.of(view, clientId)) ? { nhi: true } : {}

  /** Without the mark of an agent, which `settled` has: a name stands once in a JWT (RFC 7519 §4). */
  const unsettled = async (
    { view }: Issuer,
    { clientId }: TokenClient,
    claims: Claims | undefined,
  ): Promise<Claims> => {
    if (claims?.['nhi'] === undefined || !(await agents.of(view, clientId))) return claims ?? {}
    const { nhi: _, ...others } = claims
    return others
  }

  /** All claims that do not change from one token to the next. */
  const settled = async (request: AccessTokenRequest): Promise<Claims> => {
    const { issuer, client, user, account = client, scope, resources = [] } = request
    const mappers = await mappersFor(issuer.view, client, scope)
    const input = await inputOf(issuer, client, user, account)
    const { may_act, ...mapped } = collectClaims(mappers, 'access', input, roleClaims(input.roles))
    const username = user?.username ?? serviceAccountName(account)
    return {
      ...keycloakClaims(issuer, 'access', { client, username }),
      ...mapped,
      // `may_act` of the exchanged token is copied to the new one (RFC 8693 §4.4).
      ...(may_act === undefined || request.claims?.['may_act'] !== undefined ? {} : { may_act }),
      ...(await organizationClaim(issuer, user, scope, request.authentication)),
      iss: issuer.url,
      sub: user ? await subjects.subjectOf(issuer.view, client, user) : subjectOfClient(account),
      aud: audienceOf(issuer.url, client, {
        resources,
        mapped: [
          ...collectAudiences(mappers, input),
          ...(user ? ownAudiences(issuer, client, scope) : []),
        ],
        scope,
      }),
      client_id: client.clientId,
      azp: client.clientId,
      ...(await agentClaim(issuer, client)),
      ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
    }
  }

  const sign: Mint['sign'] = async ({ view }, client, typ, claims, alg) => {
    const key = (await keys.of(view)).signerFor(client)
    return signJwt(key, typ, alg ?? client.doc.idTokenSignedResponseAlg, claims)
  }

  /** Of an id token that comes back as a hint when nothing but its `sub` would tell the user (CIBA Core §7.1). */
  const idTokenId = ({ client, user, authentication }: IdTokenRequest, sub: string): string => {
    const id = tokenId(newId(), authentication.grantId)
    const isName = [user.id, user.username, user.email].includes(sub)
    return isName || !client.doc.grantTypes.includes('CIBA')
      ? id
      : withUserHint(id, userHints.seal(user.id))
  }

  const tell = async (request: UserinfoRequest): Promise<Claims> => {
    const { issuer, client, user, scope, authentication } = request
    return {
      ...(await mapped('userinfo', request)),
      ...(await organizationClaim(issuer, user, scope, authentication)),
      sub: await subjects.subjectOf(issuer.view, client, user),
    }
  }

  /**
   * What userinfo told of a user. The row comes again as the same object only while nothing was committed (liveness.ts),
   * and so nothing that claims are made of has changed.
   */
  const told = new WeakMap<UserRow, Map<string, Claims>>()

  return {
    sign,
    subject: ({ view }, client, user) => subjects.subjectOf(view, client, user),

    accessToken: async (request) => {
      const { issuer, client, scope, resources = [], authentication, jkt, claims } = request
      await agents.insist(issuer, client)
      const start =
        request.user || request.account
          ? openJson(await settled(request))
          : await remembered(
              issuer.view,
              client,
              [...scope, '', ...resources].join(' '),
              async () => openJson(await settled(request)),
            )
      const expiresIn = request.lifespan ?? lifetimesOf(issuer.settings, client.doc).accessToken
      const iat = Math.floor(clock.now() / 1000)
      const { actorGrantIds = [], workload } = request
      const endings = workload === undefined ? actorGrantIds : [...actorGrantIds, workload]
      const jti = tokenId(newTokenId(), authentication?.grantId, endings)
      const more: Claims = {
        ...(await unsettled(issuer, client, claims)),
        ...authenticationClaims(authentication),
        ...(jkt === undefined ? {} : { cnf: { jkt } }),
        iat,
        exp: iat + expiresIn,
        jti,
      }
      const key = (await keys.of(issuer.view)).signerFor(client)
      const json = `${start},${JSON.stringify(more).slice(1)}`
      const token = await signJwt(key, 'at+jwt', client.doc.idTokenSignedResponseAlg, json)
      return { token, jti, expiresIn }
    },

    idToken: async (request) => {
      const { issuer, client, user, scope, authentication, nonce, accessToken, code } = request
      const iat = Math.floor(clock.now() / 1000)
      const sub = await subjects.subjectOf(issuer.view, client, user)
      return sign(issuer, client, 'JWT', {
        ...keycloakClaims(issuer, 'id', { client, username: user.username }),
        ...(await mapped('id', request)),
        ...(await organizationClaim(issuer, user, scope, authentication)),
        ...request.claims,
        iss: issuer.url,
        sub,
        aud: client.clientId,
        azp: client.clientId,
        ...(await agentClaim(issuer, client)),
        iat,
        exp: iat + lifetimesOf(issuer.settings, client.doc).idToken,
        jti: idTokenId(request, sub),
        ...authenticationClaims(authentication),
        ...(nonce === undefined ? {} : { nonce }),
        ...(accessToken === undefined ? {} : { at_hash: halfHash(accessToken) }),
        ...(code === undefined ? {} : { c_hash: halfHash(code) }),
      })
    },

    userinfo: async (request) => {
      const { client, user, scope, requestedClaims, authentication } = request
      const kept = told.get(user) ?? new Map<string, Claims>()
      told.set(user, kept)
      const { sid, organization } = authentication ?? {}
      // Names of claims may hold anything; the others are ids, and words that hold no space.
      const named = requestedClaims ? JSON.stringify(requestedClaims) : ''
      const key = `${client.id} ${sid} ${organization} ${scope.join(' ')} ${named}`
      const claims = kept.get(key) ?? (await tell(request))
      kept.set(key, claims)
      return claims
    },
  }
}
