/** Names of realms: what is advised for new ones, and two that differ in case alone, which no server takes. */

import type { Diagnostic } from '../../diagnostics.ts'
import type { LoadedRealm } from '../../load/loaded.ts'
import type { Finding } from '../finding.ts'

export const checkRealmName = ({ realm }: LoadedRealm): Finding[] =>
  /^[A-Za-z0-9._-]*[A-Z._]/.test(realm)
    ? [
        {
          severity: 'warning',
          code: 'realm-name-form',
          pointer: '/realm',
          message: `a name with upper case, "." or "_" is easily mistyped in the addresses of the realm`,
          hint: `keep it for a realm that moves here, whose issuer must stay; for a new one, use lower-case letters, digits and "-"`,
        },
      ]
    : []

export const checkRealmNames = (realms: readonly LoadedRealm[]): Diagnostic[] => {
  const alike = Map.groupBy(realms, ({ realm }) => realm.toLowerCase())
  return [...alike.values()].flatMap(([first, ...others]) =>
    others.map((other): Diagnostic => {
      const [place, before] = [other.placeOf('/realm'), first?.placeOf('/realm')]
      return {
        severity: 'error',
        code: 'realm-name-case',
        message: `realm: "${other.realm}" and "${first?.realm}" differ in case alone`,
        hint: 'rename one of them',
        ...(place === undefined ? {} : { place }),
        ...(before === undefined ? {} : { related: [{ message: 'first here', place: before }] }),
      }
    }),
  )
}
