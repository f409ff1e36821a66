/**
 * A JWT is accepted only for its purpose (RFC 8725 §3.11-3.12, RFC 9101 §10.8): each type of JWT is sent to each
 * consumer, signed by the right key, and is accepted by its own consumer alone.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import { respelled, weakKeys } from '../../support/weak-keys.ts'
import { type JwtWorld, openJwtWorld } from './jwt-kinds.ts'

const assertionPlaces = [
  'client_assertion at /token',
  'client_assertion at /par',
  'client_assertion at CIBA',
  'client_assertion at /introspect',
  'client_assertion at /revoke',
  'client_assertion at /device',
]
const requestPlaces = ['request at /par', 'request at /authorize']

/** Other texts that decoders read as the same bytes. */
const spellings: Readonly<Record<string, (part: string) => string>> = {
  padding: (part) => `${part}${'='.repeat(4 - (part.length % 4))}`,
  whitespace: (part) => `${part.slice(0, 8)} ${part.slice(8)}`,
  'unused bits': (part) => (part.length % 4 === 0 ? `${part}=` : respelled(part)),
  'the letters of base64': (part) => `${part.replaceAll('-', '+').replaceAll('_', '/')}=`,
}

/** A kind that is not listed belongs nowhere, nor does any of them where a device signs. */
const belongs: Readonly<Record<string, readonly string[]>> = {
  'client assertion': assertionPlaces,
  'client assertion, typed': assertionPlaces,
  'request object': requestPlaces,
  'request object, typ JWT': requestPlaces,
  'request object, typed': requestPlaces,
  'CIBA request': ['request at CIBA'],
  'DPoP proof of the token endpoint': ['DPoP at /token'],
  'DPoP proof of userinfo': ['DPoP at /userinfo'],
  'access token of a user': [
    'bearer at /userinfo',
    'subject_token, an access token',
    'actor_token, an access token',
    'token at /introspect',
  ],
  'access token of the account API': [
    'bearer at /userinfo',
    'bearer at the account API',
    'subject_token, an access token',
    'actor_token, an access token',
    'token at /introspect',
  ],
  'access token of a service': [
    'bearer at the admin API',
    'subject_token, an access token',
    'actor_token, an access token',
    'token at /introspect',
  ],
  'id token': [
    'id_token_hint at /authorize',
    'id_token_hint at CIBA',
    'id_token_hint at /logout',
    'subject_token, an id token',
    'actor_token, an id token',
    'subject_token for an ID-JAG',
  ],
  'ID-JAG of a provider': ['assertion at /token'],
}

describe.each(anyBackend)('JWTs on $name', (backend) => {
  let world: JwtWorld
  beforeAll(async () => {
    world = await openJwtWorld(backend)
  })
  afterAll(() => world.close())

  it('are accepted where their kind belongs, and refused everywhere else', async () => {
    const { kinds, places } = world
    const wrong: string[] = []
    for (const [kind, make] of Object.entries(kinds))
      for (const [place, take] of Object.entries(places)) {
        const isGood = belongs[kind]?.includes(place) === true
        if ((await take(await make())) !== isGood)
          wrong.push(`${kind} as ${place} is ${isGood ? 'refused' : 'accepted'}`)
      }
    expect(wrong).toEqual([])
    for (const [place, take] of Object.entries(world.genuine)) {
      expect(Object.keys(places)).toContain(place)
      expect(await take(), place).toBe(true)
    }
    expect(Object.keys(kinds)).toEqual(expect.arrayContaining(Object.keys(belongs)))
    expect(Object.keys(places)).toEqual(expect.arrayContaining(Object.values(belongs).flat()))
  })

  it('have one spelling: another one of the same signature is refused (RFC 7515 §2)', async () => {
    const { kinds, places } = world
    const wrong: string[] = []
    for (const [kind, own] of Object.entries(belongs))
      for (const [how, change] of Object.entries(spellings))
        for (const place of own) {
          const [head, body, signature = ''] = (await kinds[kind]?.())?.split('.') ?? []
          if (await places[place]?.([head, body, change(signature)].join('.')))
            wrong.push(`${kind} as ${place} is accepted with ${how}`)
        }
    expect(wrong).toEqual([])
  })

  it('have one spelling of header and claims too, also where the client signed the other', async () => {
    const { places, signText } = world
    const take = places['client_assertion at /token']
    for (const [how, change] of Object.entries({ ...spellings, nothing: (text: string) => text }))
      for (const part of [0, 1]) {
        const parts = (await world.assertion()).split('.').slice(0, 2)
        parts[part] = change(parts[part] ?? '')
        const text = parts.join('.')
        expect(await take?.(`${text}.${signText(text)}`), `${how} in part ${part}`).toBe(
          how === 'nothing',
        )
      }
  })

  it.each(weakKeys)(
    'are not believed by a key that %s, which no client can have',
    async (_, jwk) => {
      const { site } = world
      const { send } = await site.server.signedIn('master', 'admin')
      const { status, body } = await send('POST', '/admin/realms/acme/clients', {
        clientId: `weak-${newId()}`,
        tokenEndpointAuthMethod: 'private_key_jwt',
        jwks: { keys: [jwk] },
      })
      expect([status, body.errors?.[0]?.field]).toEqual([400, '/jwks/keys/0'])
    },
  )
})
