/** The Response (SAML Core §3.3.3): with an assertion, signed and encrypted as the service provider wants it, or a status. */

import { pinnedUntil } from '#schemas/kinds/clients/saml-client.ts'
import type { RealmKey, RealmKeys } from '#server/keys/realm-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { element, instant, newMessageId, signElement, type Template } from '#server/xml/index.ts'
import { SamlStatusError, secondLevelCode, successCode, topLevelCode } from '../errors.ts'
import { optionsOf, type ServiceProvider } from '../service-provider.ts'
import type { SsoRequest } from '../sso/sso-request.ts'
import { issuerElement } from './assertion.ts'
import { encryptedTo } from './encryption.ts'

/** Plain JSON of a request, as far as an answer needs it. */
export type Answered = Pick<SsoRequest, 'id' | 'acs'>

/** The key that signs for a service provider: its pinned one until its date, then the one that signs for all. */
export const createSignerFor =
  ({ realmKeys, clock }: { readonly realmKeys: RealmKeys; readonly clock: Clock }) =>
  async ({ view }: Issuer, { id, doc: { pinnedKey } }: ServiceProvider): Promise<RealmKey> => {
    const keys = await realmKeys.of(view)
    const isPinned = pinnedKey !== undefined && clock.now() < pinnedUntil(pinnedKey)
    return (isPinned ? keys.find(pinnedKey.kid) : undefined) ?? keys.signerFor({ id })
  }

export type SignerFor = ReturnType<typeof createSignerFor>

/** Success where nothing went wrong. */
export const statusElement = (outcome: SamlStatusError | undefined): Template =>
  outcome
    ? element('samlp:Status', {}, [
        element('samlp:StatusCode', { Value: topLevelCode(outcome.code) }, [
          element('samlp:StatusCode', { Value: secondLevelCode(outcome.code) }),
        ]),
        element('samlp:StatusMessage', {}, outcome.message),
      ])
    : element('samlp:Status', {}, [element('samlp:StatusCode', { Value: successCode })])

export const createResponses = (parts: {
  readonly signerFor: SignerFor
  readonly clock: Clock
}) => {
  const { signerFor } = parts

  /** In the order that cannot be undone: what is inside is signed before it is hidden and before the outside is signed. */
  const sealed = async (
    issuer: Issuer,
    provider: ServiceProvider,
    assertion: Template,
  ): Promise<Template> => {
    const options = optionsOf(issuer, provider)
    const signed = options.signAssertion
      ? await signElement(assertion, await signerFor(issuer, provider))
      : assertion
    return options.encryptAssertion
      ? encryptedTo(provider, options, 'saml:EncryptedAssertion', signed)
      : signed
  }

  return async (
    issuer: Issuer,
    provider: ServiceProvider,
    { id, acs }: Answered,
    outcome: Template | SamlStatusError,
  ): Promise<Template> => {
    const failed = outcome instanceof SamlStatusError
    const response = element(
      'samlp:Response',
      {
        ID: newMessageId(),
        InResponseTo: id,
        IssueInstant: instant(parts.clock.now()),
        Version: '2.0',
        Destination: acs.url,
      },
      [
        issuerElement(issuer),
        statusElement(failed ? outcome : undefined),
        failed ? undefined : await sealed(issuer, provider, outcome),
      ],
    )
    const options = optionsOf(issuer, provider)
    // A status has no assertion whose signature could tell who speaks.
    return options.signResponse || failed || !options.signAssertion
      ? await signElement(response, await signerFor(issuer, provider))
      : response
  }
}

export type Respond = ReturnType<typeof createResponses>
