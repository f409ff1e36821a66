/** The userinfo endpoint (OIDC Core §5.3) and the APIs of vendors without ID tokens. */

import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { type Ask, jsonIn, objectIn } from './answers.ts'
import type { SignedClaims } from './id-token.ts'
import type { Upstream } from './upstream.ts'
import type { Claims, ReadApi, Vendor } from './vendor.ts'

export const createUserInfo = ({
  ask,
  signedClaims,
}: {
  readonly ask: Ask
  readonly signedClaims: Pick<SignedClaims, 'userInfo'>
}) => {
  const requestOf = (provider: Provider, vendor: Vendor, accessToken: string, address: string) => {
    const url = new URL(address)
    const parameters = vendor.apiParameters?.(provider, accessToken) ?? {}
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return {
      url: url.href,
      headers: {
        authorization: `Bearer ${accessToken}`,
        accept: 'application/json, application/jwt',
      },
    }
  }

  return async (
    provider: Provider,
    vendor: Vendor,
    upstream: Upstream,
    {
      accessToken,
      subject,
    }: { readonly accessToken: string; readonly subject: string | undefined },
  ): Promise<Claims> => {
    const { userInfoUrl } = upstream
    if (userInfoUrl === undefined) return {}
    const what = 'the userinfo response'
    const answer = await ask(what, requestOf(provider, vendor, accessToken, userInfoUrl))
    const isSigned = answer.headers['content-type']?.startsWith('application/jwt')
    const claims =
      isSigned && answer.status === 200
        ? await signedClaims.userInfo(provider, vendor, upstream, answer.text.trim())
        : objectIn(what, answer)
    // OIDC Core §5.3.2: without this check the claims may be those of another person.
    if (vendor.hasIdTokens && claims['sub'] !== subject)
      throw new UpstreamRefused('invalid-answer', 'userinfo is about another subject')
    const read: ReadApi = async (url) =>
      jsonIn(what, await ask(what, requestOf(provider, vendor, accessToken, url)))
    return { ...claims, ...(await vendor.moreClaims?.(read, userInfoUrl)) }
  }
}
