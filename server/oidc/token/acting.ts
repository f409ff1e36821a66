/** The actor of a token: the claims `act` and `may_act` (RFC 8693 §4.1, §4.4). */

import { isObject } from '#schemas/json-schema.ts'
import { own } from '#schemas/own.ts'
import { type Doer, doerOf } from '#server/sessions/doer.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { invalidRequest } from '../errors.ts'

export interface Actor {
  readonly sub: string
  /** Of an agent: its tokens may reach services that trust several issuers. */
  readonly iss?: string
  readonly client_id: string
}

/** Longest delegation chain: each link makes the token larger. */
const deepest = 5

/** Whether every member of `may_act` is true of the actor; one that we know nothing of is not. */
export const mayAct = ({ url }: Issuer, named: unknown, actor: Actor): boolean => {
  if (!isObject(named) || Object.keys(named).length === 0) return false
  const known: Readonly<Record<string, string>> = { ...actor, iss: url }
  return Object.entries(named).every(([name, value]) => own(known, name) === value)
}

const depthOf = (act: unknown): number => (isObject(act) ? 1 + depthOf(act['act']) : 0)

const isClient = (act: Readonly<Record<string, unknown>>): boolean =>
  act['client_id'] !== undefined || act['iss'] !== undefined

/** The administrator who acts as the user, at the end of the chain; other actors are named with their client or issuer. */
export const impersonatorIn = (act: unknown): string | undefined => {
  if (!isObject(act)) return undefined
  if (isObject(act['act'])) return impersonatorIn(act['act'])
  return isClient(act) || typeof act['sub'] !== 'string' ? undefined : act['sub']
}

/** Whether a client acts for the subject; an administrator who acts as the user has the user's rights. */
export const isDelegated = (act: unknown): boolean => isObject(act) && isClient(act)

/** The actor of what is done with a token of the user. */
export const doerWith = (userId: string, claims: Claims | undefined): Doer =>
  doerOf(userId, { impersonator: impersonatorIn(claims?.['act']) ?? null })

/** The actor in front of those who acted before; without one, those alone. */
export const actingChain = (before: unknown, actor: Actor | undefined): Claims => {
  if (!actor) return isObject(before) ? { act: before } : {}
  if (depthOf(before) >= deepest) throw invalidRequest('too many have acted for the subject')
  return { act: { ...actor, ...(isObject(before) ? { act: before } : {}) } }
}

const longestName = 255

const nameIn = (act: Readonly<Record<string, unknown>>, member: string): string | undefined => {
  const value = act[member]
  return typeof value === 'string' && value !== '' && value.length <= longestName
    ? value
    : undefined
}

/**
 * The actors that a token of another issuer names, each with its issuer: `iss` and `sub` identify an actor together, and members
 * that do not identify one have no meaning here (RFC 8693 §4.1). Undefined where an actor has no `sub`, or there are too many.
 */
export const foreignChain = (act: unknown, issuer: string): Claims | undefined => {
  const sub = isObject(act) ? nameIn(act, 'sub') : undefined
  if (!isObject(act) || sub === undefined || depthOf(act) > deepest) return undefined
  const clientId = nameIn(act, 'client_id')
  const actor = {
    sub,
    iss: nameIn(act, 'iss') ?? issuer,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  }
  if (act['act'] === undefined) return actor
  const before = foreignChain(act['act'], issuer)
  return before && { ...actor, act: before }
}
