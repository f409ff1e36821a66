/** The `acr` that a request asks for: essential values of the claim (OIDC Core §5.5.1.1), or wishes (`acr_values`, §3.1.2.1). */

import { isEnough, levels } from '#server/sign-in/flow/levels.ts'
import { oauthError } from '../errors.ts'
import type { AuthorizeRequest } from './authorize-request.ts'

export const unmet = oauthError('unmet_authentication_requirements')

type Wanted = Pick<AuthorizeRequest, 'essentialAcr' | 'acrValues' | 'prompt'>

/**
 * Levels that will do, the preferred first. An essential one that there is not cannot be met by signing in; one that is
 * wished for is tried.
 */
const wantedLevels = ({ essentialAcr, acrValues = [] }: Wanted): readonly string[] => {
  if (essentialAcr === undefined) return acrValues
  const offered = essentialAcr.filter((level) => levels.includes(level))
  if (offered.length === 0)
    throw unmet('the authentication context class that is essential is not offered')
  return offered
}

/** Throws where no sign-in could do: before the user signs in for nothing. */
export const checkLevels = (request: Wanted): void => {
  wantedLevels(request)
}

/** What a sign-in aims at. */
export const wantedLevel = (request: Wanted): string | undefined => wantedLevels(request)[0]

/** If the preferred value is not possible, another one of the list is used (OIDC Core §3.1.2.1). */
export const hasPreferredLevel = (request: Wanted, level: string): boolean => {
  const wanted = wantedLevels(request)
  const enough = request.prompt.includes('none') ? wanted : wanted.slice(0, 1)
  return enough.length === 0 || enough.some((one) => isEnough(level, one))
}

/** Whether no essential value is reached: the sign-in counts as failed. */
export const missesEssentialLevel = (request: Wanted, level: string): boolean =>
  request.essentialAcr !== undefined && !wantedLevels(request).some((one) => isEnough(level, one))

/** The `acr` of the tokens: an essential claim must have one of the values that were asked for, also where the user did more. */
export const issuedLevel = (request: Wanted, level: string): string => {
  if (request.essentialAcr === undefined) return level
  const wanted = wantedLevels(request)
  return [level, ...wanted].find((one) => wanted.includes(one) && isEnough(level, one)) ?? level
}
