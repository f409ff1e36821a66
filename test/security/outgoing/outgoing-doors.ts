/**
 * Every address that an administrator or a client can write and the server requests: how it is written, and the trigger of
 * the request.
 */

import { generateKeyPair, SignJWT } from 'jose'
import { forwardQueue } from '#server/audit/forwarder.ts'
import { newId } from '#server/platform/ids.ts'
import { logoutJobs } from '#server/run/background.ts'
import { createSamlSessions } from '#server/sessions/saml-sessions.ts'
import { statement } from '#server/storage/statements.ts'
import { eventsSettled } from '../../audit/settled.ts'
import type { OidcSite } from '../../oidc/fixture.ts'
import { addPerson, hiddenFields, newPerson } from '../../oidc/relying-party.ts'
import { addUser, openSession, visit } from '../../oidc/users.ts'
import { runJobs } from '../../support/jobs.ts'
import type { Answer } from '../../support/server.ts'
import { exchangeForm, newAddress } from '../../workload/fixture.ts'

export interface Door {
  /** Writes the address; what it answers is the caller's to judge. */
  write(url: string): Promise<Answer>
  /** Makes the server call the address that was written last; true where it says that the call went well. */
  call(): Promise<boolean>
}

const approvals = '/approvals'

export const openDoors = async (site: OidcSite): Promise<Readonly<Record<string, Door>>> => {
  const { server } = site
  const { areas } = server
  const { privateKey } = await generateKeyPair('ES256')
  await addPerson(site, 'asked')
  const asked = newPerson(site)
  let [clientId, id, secret, hook, metadata] = ['', '', '', '', '']

  const send = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    (await server.signedIn('master', 'admin')).send(method, path, body)
  const client = async (doc: object): Promise<Answer> => {
    clientId = `client-${newId()}`
    const answer = await send('POST', '/admin/realms/acme/clients', { clientId, ...doc })
    ;[id, secret] = [answer.body.id, answer.body.secret]
    return answer
  }
  /** Clients may register themselves, and name what the server reads. */
  const open = { dcrEnabled: true, anonymousAllowed: true, clientMetadataDocuments: true }
  let named = ''
  const registered = async (metadata: object): Promise<boolean> => {
    const { status } = await fetch(`${site.issuer}/connect/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/callback'], ...metadata }),
    })
    return status === 201
  }
  const failed = async (queue: string): Promise<number> =>
    (
      await areas.storage.db
        .selectFrom('jobs')
        .select('id')
        .where('queue', '=', queue)
        .where('state', '=', 'waiting')
        .execute()
    ).length

  let trusted = { iss: '', sub: '' }
  const trust = async (jwksUri: string) => {
    trusted = { iss: `https://issuer.example/${newId()}`, sub: newId() }
    await client({ grantTypes: ['client_credentials'] })
    return send('POST', '/admin/realms/acme/workload-identity', {
      name: `ci-${newId()}`,
      issuer: trusted.iss,
      jwksUri,
      subject: trusted.sub,
      audience: site.issuer,
      clientId,
    })
  }
  const exchange = async (): Promise<boolean> => {
    const jwt = await new SignJWT(trusted)
      .setProtectedHeader({ alg: 'ES256' })
      .setAudience(site.issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const { statusCode } = await server.app.inject({
      method: 'POST',
      url: '/realms/acme/workload-identity/token',
      // Refusals are limited by address.
      remoteAddress: newAddress(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(exchangeForm(jwt)).toString(),
    })
    return statusCode === 200
  }

  return {
    webhook: {
      write: async (url) => {
        const body = { name: `hook-${newId()}`, url, eventTypes: '*', secret: 'a secret' }
        const answer = await send('POST', '/admin/realms/acme/webhooks', body)
        hook = answer.body.id
        return answer
      },
      call: async () =>
        (await send('POST', `/admin/realms/acme/webhooks/${hook}/test`)).body.delivered,
    },
    'audit forwarder': {
      write: async (httpUrl) => {
        const answer = await send('PUT', '/admin/audit/config', { enabled: true, httpUrl })
        await site.admin('POST', '/roles', { name: `role-${newId()}` })
        return answer
      },
      call: async () => {
        const {
          storage,
          jobs,
          audit: { forwarder, outbox },
        } = areas
        await eventsSettled(outbox)
        await storage.append(jobs.enqueueStatements(forwardQueue, [{ payload: {} }]))
        await runJobs(jobs, forwarder.handler)
        const isDone = (await failed(forwardQueue)) === 0
        await send('PUT', '/admin/audit/config', { enabled: false })
        const ofQueue = storage.db.deleteFrom('jobs').where('queue', '=', forwardQueue)
        await storage.commit([statement(ofQueue)])
        return isDone
      },
    },
    'back-channel logout': {
      write: (backchannelLogoutUri) => client({ backchannelLogoutUri }),
      call: async () => {
        const before = await failed('logout')
        const user = await addUser(site, { username: `user-${newId()}` })
        const { session } = await openSession(site, user)
        await visit(site, session, { id, clientId, secret })
        await site.admin('DELETE', `/sessions/${session.sid}`)
        await runJobs(areas.jobs, logoutJobs(areas))
        return (await failed('logout')) === before
      },
    },
    'SAML logout over SOAP': {
      write: async (singleLogoutServiceUrl) => {
        const entityId = `https://sp.example/${newId()}`
        const answer = await send('POST', '/admin/realms/acme/saml-clients', {
          entityId,
          assertionConsumerServiceUrl: 'https://sp.example/acs',
          singleLogoutServiceUrl,
          options: { backChannelSloEnabled: true },
        })
        clientId = entityId
        return answer
      },
      call: async () => {
        const before = await failed('logout')
        const user = await addUser(site, { username: `user-${newId()}` })
        const { session } = await openSession(site, user)
        const document = await (await areas.copy.fresh('acme'))?.get('saml-client', clientId)
        const samlSessions = createSamlSessions({
          storage: areas.storage,
          clock: areas.given.clock,
        })
        await areas.storage.commit(
          samlSessions.visit({
            session,
            providerId: document?.id ?? '',
            nameId: { format: 'persistent', value: 'a name' },
            sessionIndex: '_1',
          }),
        )
        await site.admin('DELETE', `/sessions/${session.sid}`)
        await runJobs(areas.jobs, logoutJobs(areas))
        return (await failed('logout')) === before
      },
    },
    'CIBA ping': {
      write: (backchannelClientNotificationEndpoint) =>
        client({
          grantTypes: ['CIBA'],
          backchannelTokenDeliveryMode: 'ping',
          backchannelClientNotificationEndpoint,
        }),
      call: async () => {
        const before = await failed('ciba-ping')
        await site.post('/backchannel-authentication', {
          client_id: clientId,
          client_secret: secret,
          scope: 'openid',
          login_hint: 'asked',
          client_notification_token: 'a-token',
        })
        const page = await asked.signIn(`${site.issuer}${approvals}`, 'asked')
        const fields = { ...hiddenFields(page.body), decision: 'allow' }
        await asked.open(`${site.issuer}${approvals}`, fields)
        await runJobs(areas.jobs, areas.oidc.pings)
        return (await failed('ciba-ping')) === before
      },
    },
    jwksUri: {
      write: (jwksUri) =>
        client({
          grantTypes: ['client_credentials'],
          tokenEndpointAuthMethod: 'private_key_jwt',
          jwksUri,
        }),
      call: async () => {
        const assertion = await new SignJWT({ jti: newId() })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(clientId)
          .setSubject(clientId)
          .setAudience(site.issuer)
          .setExpirationTime('1m')
          .sign(privateKey)
        const { status } = await site.post('/token', {
          grant_type: 'client_credentials',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: assertion,
        })
        return status === 200
      },
    },
    'jwksUri of a workload': {
      write: trust,
      call: exchange,
    },
    'software statements': {
      write: (jwksUri) =>
        send('PUT', '/admin/realms/acme/provisioning', {
          ...open,
          softwareStatementIssuers: [{ issuer: 'https://vendor.example', jwksUri }],
        }),
      call: async () =>
        registered({
          software_statement: await new SignJWT({})
            .setProtectedHeader({ alg: 'ES256' })
            .setIssuer('https://vendor.example')
            .sign(privateKey),
        }),
    },
    'sector identifier': {
      write: async (url) => {
        named = url
        return send('PUT', '/admin/realms/acme/provisioning', open)
      },
      call: () => registered({ sector_identifier_uri: named }),
    },
    'client metadata document': {
      write: async (url) => {
        named = url
        return send('PUT', '/admin/realms/acme/provisioning', open)
      },
      call: async () => {
        const query = new URLSearchParams({ client_id: named, response_type: 'code' })
        return (await asked.open(`${site.issuer}/authorize?${query}`)).status === 200
      },
    },
    'metadata of a service provider': {
      // Nothing is stored before the address was called.
      write: async (url) => {
        metadata = url
        return { status: 200, headers: {}, body: null }
      },
      call: async () => {
        const path = '/admin/realms/acme/saml-clients/import-url'
        return (await send('POST', path, { url: metadata })).status < 300
      },
    },
    'SMS gateway': {
      write: (url) =>
        send('PUT', '/admin/realms/acme/messaging/providers', {
          channel: 'SMS',
          driver: 'http',
          config: { url },
        }),
      call: async () => {
        const path = '/admin/realms/acme/messaging/providers/SMS/test'
        return (await send('POST', path, { to: '+31612345678' })).body.success === true
      },
    },
  }
}
