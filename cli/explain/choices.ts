/** Words that a field takes, each with its meaning, where the type of the field tells neither. */

import { type AuthenticatorSetting, settingsOf } from '#schemas/drivers/authenticator-settings.ts'
import { authenticators, isCondition } from '#schemas/drivers/authenticators.ts'
import { claimMappers, mapperChoices } from '#schemas/drivers/claim-mappers.ts'
import { samlMapperChoices, samlMappers } from '#schemas/drivers/saml.ts'
import { own } from '#schemas/own.ts'

export interface Choice {
  /** The authenticator or mapper whose setting it is. */
  readonly of?: string
  readonly value: string
  readonly doc: string
}

const among = (values: readonly string[] | undefined): string =>
  values === undefined ? '' : `${values.join(', ')}.`

const settingWords = ({ doc, required, choices, list }: AuthenticatorSetting): string =>
  [
    doc,
    ...(choices ? [`${list ? 'Some' : 'One'} of ${among(choices)}`] : []),
    ...(list ? ['Separated by commas.'] : []),
    ...(required ? ['Required.'] : []),
  ].join(' ')

const authenticatorChoices = (): Choice[] =>
  authenticators.map(({ id, displayName, description }) => ({
    value: id,
    doc: isCondition(id) ? `${displayName}, the sub-flow runs.` : description,
  }))

const authenticatorSettings = (): Choice[] =>
  authenticators.flatMap(({ id }) =>
    settingsOf(id).map((setting) => ({ of: id, value: setting.name, doc: settingWords(setting) })),
  )

const mapperSettings = (
  mappers: Readonly<
    Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>
  >,
  choices: Readonly<Record<string, readonly string[]>>,
): Choice[] =>
  Object.entries(mappers).flatMap(([id, { required, optional }]) =>
    [...required, ...optional].map((setting) => ({
      of: id,
      value: setting,
      doc: [
        ...(own(choices, setting) ? [`One of ${among(own(choices, setting))}`] : []),
        ...(required.includes(setting) ? ['Required.'] : []),
      ].join(' '),
    })),
  )

/** By the path of the field, as `explain` writes it. */
const choicesByPath: Readonly<Record<string, () => Choice[]>> = {
  'flow.authenticationExecutions.authenticator': authenticatorChoices,
  'flow.authenticationExecutions.authenticatorConfig': authenticatorSettings,
  'claim.config': () => mapperSettings(claimMappers, mapperChoices),
  'client-mapper.config': () => mapperSettings(claimMappers, mapperChoices),
  'saml-client-mapper.config': () => mapperSettings(samlMappers, samlMapperChoices),
}

export const choicesOf = (path: string): Choice[] => own(choicesByPath, path)?.() ?? []
