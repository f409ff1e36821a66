/** Every grant up to its token request: the user has finished, and the client can ask for tokens. */

import { type OidcSite, openIssuer, type Reply, type TestClient } from '../../oidc/fixture.ts'
import {
  addPerson,
  authorizeUrl,
  codeOf,
  hiddenFields,
  newPerson,
  type Person,
  password,
  redirectUri,
} from '../../oidc/relying-party.ts'
import type { Backend } from '../../support/backends.ts'

export type Fields = Readonly<Record<string, string>>

export const urns = {
  device: 'urn:ietf:params:oauth:grant-type:device_code',
  ciba: 'urn:openid:params:grant-type:ciba',
  exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
}

export interface World {
  readonly site: OidcSite
  /** A client with every grant. */
  readonly every: TestClient
  readonly aliceId: string
  readonly alice: Person
  as(client: TestClient): Fields
  code(scope?: string): Promise<string>
  tokens(scope?: string): Promise<{ access_token: string; refresh_token: string; id_token: string }>
  /** By grant: what the client has to send for the tokens, its credentials aside. */
  inFlight(): Promise<Readonly<Record<string, Fields>>>
  redeem(fields: Fields, client?: TestClient): Promise<Reply>
}

export const everyGrant = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'password',
  'device',
  'CIBA',
  'token-exchange',
] as const

export const openWorld = async (backend: Backend): Promise<World> => {
  const site = await openIssuer(backend)
  const every = await site.client({
    clientId: 'every',
    grantTypes: [...everyGrant],
    redirectUris: [redirectUri],
    scopes: ['profile'],
    webOrigins: ['https://app.example'],
  })
  const aliceId = await addPerson(site, 'alice')
  const alice = newPerson(site)

  const as: World['as'] = ({ clientId, secret }) => ({ client_id: clientId, client_secret: secret })
  const redeem: World['redeem'] = (fields, client = every) =>
    site.post('/token', { ...as(client), ...fields })
  const ofCode = (code: string): Fields => ({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
  })
  const code: World['code'] = async (scope = 'openid') =>
    codeOf(await alice.signIn(authorizeUrl(site, every, { scope })))
  const tokens: World['tokens'] = async (scope) => (await redeem(ofCode(await code(scope)))).body

  const approvedDevice = async (): Promise<Fields> => {
    const { body } = await site.post('/device', { ...as(every), scope: 'openid' })
    const page = await alice.signIn(body.verification_uri_complete)
    await alice.submit(page, { decision: 'allow' })
    return { grant_type: urns.device, device_code: body.device_code }
  }
  const approvedElsewhere = async (): Promise<Fields> => {
    const asked = { ...as(every), scope: 'openid', login_hint: 'alice' }
    const { body } = await site.post('/backchannel-authentication', asked)
    const page = await alice.signIn(`${site.issuer}/approvals`)
    const fields = { ...hiddenFields(page.body), decision: 'allow' }
    await alice.open(`${site.issuer}/approvals`, fields)
    return { grant_type: urns.ciba, auth_req_id: body.auth_req_id }
  }

  return {
    site,
    every,
    aliceId,
    alice,
    as,
    code,
    tokens,
    redeem,
    inFlight: async () => ({
      authorization_code: ofCode(await code()),
      refresh_token: {
        grant_type: 'refresh_token',
        refresh_token: (await tokens()).refresh_token,
      },
      password: { grant_type: 'password', username: 'alice', password },
      device: await approvedDevice(),
      CIBA: await approvedElsewhere(),
      'token-exchange': {
        grant_type: urns.exchange,
        subject_token: (await tokens()).access_token,
        subject_token_type: urns.accessToken,
      },
    }),
  }
}
