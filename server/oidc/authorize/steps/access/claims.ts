/**
 * The `claims` parameter (OIDC Core §5.5): claims of the id token and userinfo, the user who must sign in, and the level.
 */

import type { Agents } from '#server/tokens/agents/agents.ts'
import { namedClaims } from '#server/tokens/claims/named.ts'
import { invalidRequest } from '../../../errors.ts'
import type { AuthorizeRequest, SentRequest, Step } from '../../authorize-request.ts'

type Wish = Readonly<Record<string, unknown>>

const most = 100
/** It is stored while the user signs in, and the names of the claims for as long as the grant. */
const longest = 8192

const objectOf = (value: unknown): Wish => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidRequest('the claims parameter is not made of JSON objects')
  return value as Wish
}

const parse = (text: string): Wish => {
  try {
    return objectOf(JSON.parse(text))
  } catch (cause) {
    throw invalidRequest('the claims parameter is not a JSON object', { cause })
  }
}

const memberOf = (claims: Wish, member: string): Wish =>
  claims[member] === undefined || claims[member] === null ? {} : objectOf(claims[member])

const detailsOf = (wishes: Wish, name: string): Wish =>
  wishes[name] === undefined || wishes[name] === null ? {} : objectOf(wishes[name])

/** The value that a claim is to have, and the values of which it is to have one (OIDC Core §5.5.1). */
const valuesOf = (wishes: Wish, name: string): readonly unknown[] => {
  const { value, values } = detailsOf(wishes, name)
  return [value, values].flat().filter((one) => one !== undefined && one !== null)
}

/**
 * Values of an essential claim must be met; those of a voluntary one are a wish, as `acr_values` are. Without values nothing is
 * asked for: every id token has the claim (OIDC Core §5.5.1.1).
 */
const wantedAcr = (wishes: Wish): Pick<AuthorizeRequest, 'essentialAcr' | 'acrValues'> => {
  const { essential } = detailsOf(wishes, 'acr')
  const wanted = valuesOf(wishes, 'acr')
  if (wanted.length === 0) return {}
  const texts = wanted.filter((one) => typeof one === 'string')
  return essential === true ? { essentialAcr: texts } : { acrValues: texts }
}

/** Of the id token and of userinfo, which are about the same user (OIDC Core §5.3.2): no other may be answered (§3.1.2.2). */
const subject = (...members: readonly Wish[]): Pick<AuthorizeRequest, 'subject'> => {
  const [named, ...others] = new Set(members.flatMap((wishes) => valuesOf(wishes, 'sub')))
  if (others.length > 0) throw invalidRequest('the claims parameter names different users')
  if (named === undefined) return {}
  if (typeof named !== 'string')
    throw invalidRequest('the claims parameter names a user by a sub that is no text')
  return { subject: named }
}

/** Those whose scope the agent may have; all of them for other clients. */
const claimsWithin = async (
  agents: Pick<Agents, 'within'>,
  { issuer: { view }, client }: SentRequest,
  names: readonly string[],
): Promise<string[]> => {
  const allowed = await Promise.all(
    names.map(async (name) => {
      const scopes = (await namedClaims(view, client, [], [name])).map((one) => one.scope)
      return (await agents.within(view, client, scopes)).length === scopes.length
    }),
  )
  return names.filter((_, index) => allowed[index])
}

export const claims =
  (agents: Pick<Agents, 'within'>): Step =>
  async (sent) => {
    const { parameters } = sent
    const text = parameters.get('claims')
    if (text === undefined) return {}
    if (text.length > longest)
      throw invalidRequest(`the claims parameter is longer than ${longest} characters`)
    const all = parse(text)
    const [idToken, userinfo] = [memberOf(all, 'id_token'), memberOf(all, 'userinfo')]
    const [idTokenClaims, userinfoClaims] = [Object.keys(idToken), Object.keys(userinfo)]
    if (idTokenClaims.length + userinfoClaims.length > most)
      throw invalidRequest('the claims parameter asks for too many claims')
    return {
      idTokenClaims: await claimsWithin(agents, sent, idTokenClaims),
      userinfoClaims: await claimsWithin(agents, sent, userinfoClaims),
      ...subject(idToken, userinfo),
      ...wantedAcr(idToken),
    }
  }
