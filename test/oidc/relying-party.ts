/** A person with a browser that has no scripts: it keeps cookies, follows redirects within the server, and sends forms. */

import { createHash, randomBytes } from 'node:crypto'
import type { Fields, OidcSite, TestClient } from './fixture.ts'

export interface Page {
  /** Where the browser is. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
  /** Where the server sends it, outside of itself. */
  readonly away?: string
}

export interface Person {
  readonly jar: Map<string, string>
  open(url: string, form?: Fields, headers?: Readonly<Record<string, string>>): Promise<Page>
  /** Sends the form of the page with its hidden fields. */
  submit(page: Page, fields: Readonly<Record<string, string>>): Promise<Page>
  /** As `open`; signs in where the sign-in page comes. */
  signIn(url: string, username?: string): Promise<Page>
}

export const password = 'a long enough passphrase 7'
export const redirectUri = 'https://app.example/callback'

const decoded = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

const attribute = (tag: string, name: string): string =>
  decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '')

export const hiddenFields = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden"[^>]*>/g)].map(([tag]) => [
      attribute(tag, 'name'),
      attribute(tag, 'value'),
    ]),
  )

export const actionOf = (html: string): string =>
  attribute(/<form[^>]*>/.exec(html)?.[0] ?? '', 'action')

const keep = (jar: Map<string, string>, line: string): void => {
  const [pair = '', ...attributes] = line.split(';')
  const cut = pair.indexOf('=')
  const gone = attributes.some((one) => /^\s*max-age=0$|expires=Thu, 01 Jan 1970/i.test(one))
  if (gone) jar.delete(pair.slice(0, cut))
  else jar.set(pair.slice(0, cut), pair.slice(cut + 1))
}

export const newPerson = (site: {
  readonly server: Pick<OidcSite['server'], 'baseUrl'>
}): Person => {
  const jar = new Map<string, string>()

  const send = async (
    url: string,
    form: Fields | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Page> => {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) keep(jar, line)
    const body = await response.text()
    const location = response.headers.get('location')
    const page = { url, status: response.status, headers: response.headers, body }
    if (location === null) return page
    if (!location.startsWith('/') && !location.startsWith(`${site.server.baseUrl}/`))
      return { ...page, away: location }
    return send(new URL(location, url).href, undefined, {})
  }

  const open: Person['open'] = (url, form, headers = {}) => send(url, form, headers)
  const submit: Person['submit'] = (page, fields) =>
    send(new URL(actionOf(page.body), page.url).href, { ...hiddenFields(page.body), ...fields }, {})
  return {
    jar,
    open,
    submit,
    signIn: async (url, username = 'alice') => {
      const page = await open(url)
      return page.body.includes('name="password"') ? submit(page, { username, password }) : page
    },
  }
}

/** A user of the realm who can sign in with `password`. */
export const addPerson = async (site: OidcSite, username: string): Promise<string> => {
  const user = { username, email: `${username}@acme.example` }
  const { body } = await site.admin('POST', '/users', user)
  await site.admin('POST', `/users/${body.userId}/credentials`, {
    type: 'password',
    value: password,
  })
  return body.userId
}

export const newVerifier = (): { verifier: string; challenge: string } => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export type Asked = Readonly<Record<string, string | undefined>>

/** An authorize URL with the parameters that every request has; one that is undefined is left out. */
export const authorizeUrl = (
  site: OidcSite,
  client: Pick<TestClient, 'clientId'>,
  asked: Asked = {},
): string => {
  const all = {
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    state: 'a state',
    ...asked,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value)
  return `${site.issuer}/authorize?${query}`
}

/** The parameters of an answer in the query. */
export const answerOf = ({ away, body }: Page): Record<string, string> => {
  if (away === undefined) throw new Error(`no answer: ${body.replaceAll(/<[^>]*>|\s+/g, ' ')}`)
  return Object.fromEntries(new URL(away).searchParams)
}

export const codeOf = (page: Page): string => {
  const { code } = answerOf(page)
  if (code === undefined) throw new Error(`no code: ${page.away}`)
  return code
}

/** Exchanges a code with the secret in the body. */
export const exchange = (
  site: OidcSite,
  { clientId, secret }: TestClient,
  code: string,
  fields: Readonly<Record<string, string>> = {},
) =>
  site.post('/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    ...(secret === '' ? {} : { client_secret: secret }),
    code,
    redirect_uri: redirectUri,
    ...fields,
  })

/** Changes some fields of what is there. */
export const change = async (
  site: OidcSite,
  path: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> => {
  const { body } = await site.admin('GET', path)
  await site.admin('PUT', path, { ...body, ...fields })
}
