/** SCIM targets: a filter that can be read, a mapping between fields that exist, and what the way to authenticate needs. */

import { isScimSource, scimPathOf, userFields } from '../../drivers/scim-mapping.ts'
import { ScimTarget, type ScimTargetDoc } from '../../kinds/provisioning/scim-target.ts'
import type { FieldError } from '../../problems.ts'
import { parseScimFilter, ScimFilterError } from '../../text/scim-filter.ts'
import { ruleFor } from '../rule.ts'

const filterErrors = ({ filter }: ScimTargetDoc): FieldError[] => {
  if (filter === undefined) return []
  try {
    parseScimFilter(filter)
    return []
  } catch (error) {
    if (!(error instanceof ScimFilterError)) throw error
    const message = `the filter cannot be read: ${error.message}`
    return [{ field: '/filter', code: 'filter', message }]
  }
}

const pointerOf = (key: string): string =>
  `/mapping/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

const mappingErrors = ({ mapping }: ScimTargetDoc): FieldError[] =>
  Object.entries(mapping).flatMap(([path, source]) => [
    ...(scimPathOf(path)
      ? []
      : [
          {
            field: pointerOf(path),
            code: 'mapping',
            message: `"${path}" is no attribute that can be mapped; write title, name.givenName, phoneNumbers[type eq "work"].value or urn:…:User:department`,
          },
        ]),
    ...(isScimSource(source)
      ? []
      : [
          {
            field: pointerOf(path),
            code: 'mapping',
            message: `"${source}" is no field of a user; write ${userFields.join(', ')}, attributes.<name> or none`,
          },
        ]),
  ])

const oauthErrors = (doc: ScimTargetDoc): FieldError[] =>
  (['tokenUrl', 'clientId'] as const).flatMap((field) => {
    const isGiven = doc[field] !== undefined
    if (isGiven === (doc.authType === 'oauth2')) return []
    const message = isGiven
      ? 'it is for authType oauth2; remove it or set authType: oauth2'
      : 'authType oauth2 needs it'
    return [{ field: `/${field}`, code: 'auth-type', message }]
  })

export const scimTarget = ruleFor<ScimTargetDoc>(ScimTarget, (doc) => [
  ...filterErrors(doc),
  ...mappingErrors(doc),
  ...oauthErrors(doc),
])
