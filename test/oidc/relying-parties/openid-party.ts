/** A third-party relying party: openid-client, which verifies the signature of every response. */

import * as openid from 'openid-client'
import type { OidcSite, TestClient } from '../fixture.ts'
import { actionOf, hiddenFields, type Page, type Person, redirectUri } from '../relying-party.ts'

export type Tokens = Awaited<ReturnType<typeof openid.authorizationCodeGrant>>

export interface Party {
  readonly client: TestClient
  readonly config: openid.Configuration
  /** A code flow with all checks, to its tokens: what is asked for at the start, and what with the code. */
  signIn(person: Person, asked?: Asked, withCode?: Record<string, string>): Promise<Tokens>
}

/** A parameter that stands more than once needs the other form. */
type Asked = Readonly<Record<string, string>> | URLSearchParams

/** What the party is called with: a form is sent by the browser, and a fragment read by the script of a page. */
const arrivalOf = ({ away = '', body }: Page, mode: string): URL | Request => {
  if (mode.startsWith('form_post'))
    return new Request(actionOf(body), {
      method: 'POST',
      body: new URLSearchParams(hiddenFields(body)),
    })
  const url = new URL(away)
  if (mode.startsWith('fragment')) url.search = url.hash.slice(1)
  url.hash = ''
  return url
}

export const openParty = async (
  site: OidcSite,
  doc: Parameters<OidcSite['client']>[0],
  metadata: Partial<openid.ClientMetadata> = {},
): Promise<Party> => {
  const client = await site.client({
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
    ...doc,
  })
  const config = await openid.discovery(
    new URL(site.issuer),
    client.clientId,
    metadata,
    openid.ClientSecretBasic(client.secret),
    { execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks] },
  )
  return {
    client,
    config,
    signIn: async (person, asked = {}, withCode = {}) => {
      const verifier = openid.randomPKCECodeVerifier()
      const [state, nonce] = [openid.randomState(), openid.randomNonce()]
      const parameters = new URLSearchParams(asked)
      const defaults = {
        redirect_uri: doc.redirectUris?.[0] ?? redirectUri,
        scope: 'openid',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      }
      for (const [name, value] of Object.entries(defaults))
        if (!parameters.has(name)) parameters.set(name, value)
      const url = openid.buildAuthorizationUrl(config, parameters)
      const checks = {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      }
      const mode = parameters.get('response_mode') ?? 'query'
      // The library has one word for all signed modes.
      if (parameters.has('response_mode')) url.searchParams.set('response_mode', mode)
      const arrival = arrivalOf(await person.signIn(url.href), mode)
      return openid.authorizationCodeGrant(config, arrival, checks, withCode)
    },
  }
}
