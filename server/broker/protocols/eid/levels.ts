/** Levels of assurance in their order, and the check that an answer reaches the least one of the document. */

import { notAllowed } from '../saml/refuse.ts'

/** From the lowest to the highest. */
export interface Levels {
  readonly order: readonly string[]
  /** The URI of a level that is given by its short name. */
  readonly uriOf: (level: string) => string
}

/** Afsprakenstelsel Elektronische Toegangsdiensten, levels of assurance. */
export const eherkenningLevels: Levels = {
  order: ['loa1', 'loa2', 'loa2plus', 'loa3', 'loa4'].map(
    (level) => `urn:etoegang:core:assurance-class:${level}`,
  ),
  uriOf: (level) => level,
}

const eidas = 'http://eidas.europa.eu/LoA/'

/** Implementing Regulation (EU) 2015/1502; levels of schemes that were not notified are none of these. */
export const eidasLevels: Levels = {
  order: ['low', 'substantial', 'high'].map((level) => `${eidas}${level}`),
  uriOf: (level) => (level.startsWith(eidas) ? level : `${eidas}${level}`),
}

/** A level that is not in the order can only be the same one. */
export const checkLevel = (
  { order, uriOf }: Levels,
  minimum: string,
  reached: string | undefined,
): void => {
  const least = order.indexOf(uriOf(minimum))
  const level = reached === undefined ? -1 : order.indexOf(reached)
  const isEnough = least < 0 ? reached === uriOf(minimum) : level >= least
  if (!isEnough)
    notAllowed(
      `the level of assurance ${reached ?? 'of the sign-in is not stated'}; minimumLoa is ${uriOf(minimum)}`,
    )
}
