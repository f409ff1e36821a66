/** samlp, the identity provider of Auth0 for Express, on a server of Node: its middleware asks for a little of Express alone. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import samlp from 'samlp'
import { certificateOf, privateKeyOf } from '../../../saml/keys.ts'
import type { Party } from '../../../xml/keys.ts'

export interface SamlpOptions {
  readonly key: Party
  /** The user that is signed in. */
  readonly user: { readonly id: string; readonly email: string }
  /** Of the service provider, in PEM. */
  readonly signingCert: string
  readonly encryptTo: Party
  readonly acsUrl: string
}

export interface Samlp {
  readonly metadataUrl: string
  /** What it refused. */
  readonly errors: readonly string[]
  /** The service provider is known once its metadata has been read. */
  readonly serve: (options: SamlpOptions) => void
  readonly close: () => void
}

const expressOf = (request: IncomingMessage, response: ServerResponse) => {
  const { method, url = '', headers } = request
  const { searchParams } = new URL(url, 'http://localhost')
  return {
    request: {
      method,
      headers,
      originalUrl: url,
      protocol: 'http',
      query: Object.fromEntries(searchParams),
    },
    response: {
      set: (name: string, value: string) => response.setHeader(name, value),
      send: (body: string) => response.end(body),
    },
  }
}

export const startSamlp = async (): Promise<Samlp> => {
  const errors: string[] = []
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    metadataUrl: `${url}/metadata`,
    errors,
    serve: ({ key, user, signingCert, encryptTo, acsUrl }) => {
      const own = { issuer: `${url}/idp`, cert: certificateOf(key), key: privateKeyOf(key) }
      const { id, email } = user
      const sso = samlp.auth({
        ...own,
        signingCert,
        signResponse: true,
        recipient: acsUrl,
        destination: acsUrl,
        nameIdentifierFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
        lifetimeInSeconds: 300,
        encryptionPublicKey: encryptTo.publicKey.export({ type: 'spki', format: 'pem' }),
        encryptionCert: certificateOf(encryptTo),
        encryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
        getPostURL: (
          _audience: unknown,
          _request: unknown,
          _visit: unknown,
          done: (error: null, url: string) => void,
        ) => done(null, acsUrl),
        getUserFromRequest: () => ({
          id,
          emails: [{ value: email }],
          displayName: 'Ada Abel',
          name: { givenName: 'Ada', familyName: 'Abel' },
        }),
      })
      const metadata = samlp.metadata({
        ...own,
        redirectEndpointPath: '/sso',
        postEndpointPath: '/sso',
      })
      server.removeAllListeners('request').on('request', (incoming, outgoing) => {
        const { request, response } = expressOf(incoming, outgoing)
        const middleware = incoming.url?.startsWith('/metadata') ? metadata : sso
        middleware(request, response, (error) => {
          errors.push(String(error))
          outgoing.writeHead(400).end()
        })
      })
    },
    close: () => server.close(),
  }
}
