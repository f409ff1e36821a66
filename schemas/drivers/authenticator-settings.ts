/**
 * The settings that each authenticator reads (`authenticatorConfig`). A condition whose setting is not read never holds, and
 * the sub-flow with the second factor is skipped for all users: flows with a setting that is not here are refused.
 * `server/sign-in/conditions` and `server/sign-in/authenticators` have the code.
 */

import { authenticatorIds, isCondition } from './authenticators.ts'

export interface AuthenticatorSetting {
  readonly name: string
  /** Without it the authenticator does nothing. */
  readonly required?: true
  readonly doc: string
  /** The values that it may have. */
  readonly choices?: readonly string[]
  /** It is a list, separated by commas. */
  readonly list?: true
  /** The form of a value, or of each of a list. */
  readonly form?: { readonly test: (value: string) => boolean; readonly message: string }
  /** The kinds of which a value is the name of a document. */
  readonly names?: readonly string[]
}

/** Names and values of a setting with several, separated by commas. */
export const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')

const yesOrNo = ['true', 'false']

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4Network = new RegExp(`^${octet}(?:\\.${octet}){3}/(?:[0-9]|[12]\\d|3[0-2])$`)

/** Not an IPv4 address in the form of IPv6 (`::ffff:`): the server compares that as IPv4, and it would never match. */
const isIpv6 = (address: string): boolean =>
  /^(?!::ffff:)[0-9a-f:.]*:[0-9a-f:.]*$/i.test(address) && URL.canParse(`http://[${address}]/`)

const isNetwork = (value: string): boolean => {
  if (ipv4Network.test(value)) return true
  const [address = '', bits = '', more] = value.split('/')
  return more === undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= 128 && isIpv6(address)
}

const isWebAddress = (value: string): boolean => {
  const url = URL.parse(value)
  return url?.protocol === 'https:' || url?.protocol === 'http:'
}

const negate: AuthenticatorSetting = {
  name: 'negate',
  doc: 'true: the sub-flow runs if the condition does not hold.',
  choices: yesOrNo,
}

const own: Readonly<Record<string, readonly AuthenticatorSetting[]>> = {
  'identity-provider': [
    {
      name: 'provider',
      doc: 'Alias of the provider that browsers are sent to at once.',
      names: ['identity-provider'],
    },
  ],
  'broker-review-profile': [
    {
      name: 'review',
      doc: 'When the profile is shown; missing if unset: where the provider gave no address.',
      choices: ['always', 'missing', 'never'],
    },
  ],
  organization: [
    { name: 'optional', doc: 'true: the user may choose no organization.', choices: yesOrNo },
  ],
  terms: [
    {
      name: 'since',
      doc: 'Seconds since 1970: users who accepted before are asked again.',
      form: { test: (value) => /^\d{1,12}$/.test(value), message: 'must be seconds since 1970' },
    },
    {
      name: 'url',
      doc: 'Where the terms are, instead of termsUrl of the settings.',
      form: { test: isWebAddress, message: 'must be an http or https address' },
    },
    { name: 'text', doc: 'The terms, or what is said of them.' },
  ],
  'condition-user-has-factor': [
    {
      name: 'types',
      doc: 'Factors that count; otp, webauthn and push if unset.',
      list: true,
      choices: ['otp', 'webauthn', 'push', 'recovery-codes'],
    },
  ],
  'condition-role': [
    {
      name: 'roles',
      required: true,
      doc: 'Roles, any of which the user has; a role of a client as client/role.',
      list: true,
      names: ['role', 'client-role'],
    },
  ],
  'condition-group': [
    {
      name: 'groups',
      required: true,
      doc: 'Groups as /path, any of which the user is in, or in a group below it.',
      list: true,
      names: ['group'],
    },
  ],
  'condition-client': [
    {
      name: 'clients',
      required: true,
      doc: 'Clients, any of which the sign-in is for.',
      list: true,
      names: ['client'],
    },
  ],
  'condition-acr': [
    {
      name: 'acr',
      doc: 'The least level that is asked for; 2 if unset.',
      choices: ['1', '2'],
    },
  ],
  'condition-network': [
    {
      name: 'networks',
      required: true,
      doc: 'Networks, any of which the sign-in comes from: 203.0.113.0/24, 2001:db8::/32.',
      list: true,
      form: {
        test: isNetwork,
        message: 'must be networks such as 203.0.113.0/24 or 2001:db8::/32',
      },
    },
  ],
}

const settings: ReadonlyMap<string, readonly AuthenticatorSetting[]> = new Map(
  [...authenticatorIds].map((id) => [
    id,
    [...(own[id] ?? []), ...(isCondition(id) ? [negate] : [])],
  ]),
)

export const settingsOf = (authenticator: string): readonly AuthenticatorSetting[] =>
  settings.get(authenticator) ?? []
