/** Each rule stands in one place: the server and the CLI say the same about the same document. */
import { describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import { keyOf } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { kindNamed } from '#schemas/registry.ts'
import { rules } from '#schemas/rules/index.ts'
import { splitSecrets } from '#schemas/walk.ts'
import { withSharedRules } from '#server/realm/behaviours/shared-rules.ts'
import { type Draft, Drafts } from '#server/realm/write/drafts.ts'
import { emptySnapshot } from '#server/realm/write/gather.ts'
import { makeCertificate } from '../../platform/outgoing/certificates.ts'
import { check } from './check.ts'

/** A document of each kind that has a rule, which breaks as many of its parts as can be broken at once. */
const broken: Readonly<Record<string, Doc>> = {
  agent: { name: 'a', clientId: 'parent' },
  application: { name: 'shop', entityId: 'x' },
  'authz-policy': {
    name: 'p',
    type: 'aggregate',
    policies: ['p'],
    hourEnd: 6,
    year: 2027,
    yearEnd: 2026,
  },
  claim: {
    name: 'c',
    protocolMapper: 'oidc-usermodel-property-mapper',
    config: { zz: '1', 'user.attribute': 'shoeSize', multivalued: 'yes' },
  },
  'client-mapper': {
    name: 'm',
    protocolMapper: 'oidc-hardcoded-claim-mapper',
    config: { zz: '1' },
  },
  client: {
    clientId: 'web',
    publicClient: true,
    secret: 'x'.repeat(40),
    grantTypes: ['client_credentials'],
    serviceAccountsEnabled: true,
    tokenEndpointAuthMethod: 'client_secret_jwt',
    jwksUri: 'https://web.example/jwks',
    jwks: { keys: [{ kty: 'RSA', d: 'x' }, {}, { kty: 'RSA', n: 'AQAB', e: 'AQAB' }] },
  },
  flow: { alias: 'f', authenticationExecutions: [{}, { authenticator: 'x' }, { flowAlias: 'f' }] },
  'identity-provider': {
    alias: 'i',
    protocol: 'saml',
    config: { bindPassword: 'x', url: 'ldap://x' },
  },
  'identity-provider-mapper': { name: 'm', type: 'role', value: 'x', attribute: 'email' },
  'key-policy': { rotateEvery: '90d', keepFor: '1h' },
  'message-template': {
    templateKey: 't',
    channel: 'SMS',
    subject: '{{nobody}}',
    body: '{{cod}} {{',
    html: true,
  },
  'messaging-provider': {
    channel: 'EMAIL',
    driver: 'twilio',
    fromAddress: 'nobody',
    config: { headers: { Host: 'x' }, ca: 'x' },
  },
  organization: { alias: 'o', domains: [{ name: 'o.example' }, { name: 'O.example' }] },
  provisioning: { scimClients: ['parent'] },
  role: { name: 'r', composites: ['r'] },
  'saml-client': {
    entityId: 'sp',
    assertionConsumerServiceUrl: 'https://sp.example/acs',
    acs: [
      { index: 1, url: 'https://sp.example/a' },
      { index: 1, url: 'https://sp.example/b' },
    ],
    signingCertificate: makeCertificate(['sp.example'], 1024).certificate,
    metadataRefresh: '1d',
    options: { encryptAssertion: true, signAssertion: false, signResponse: false },
  },
  'saml-client-mapper': {
    name: 'm',
    protocolMapper: 'saml-user-property-mapper',
    config: { zz: '1', 'user.attribute': 'shoeSize' },
  },
  settings: {
    passwordPolicy: { length: 20, maxLength: 10 },
    ssoSessionIdleTimeout: 7200,
    ssoSessionMaxLifespan: 60,
    browserFlow: 'browser-second-factor',
  },
  'scim-target': {
    name: 's',
    baseUrl: 'https://target.example/scim',
    filter: 'userName eq',
    mapping: { active: 'x' },
    clientId: 'c',
  },
  'subject-claim': { strategy: 'attribute' },
  'workload-identity': {
    name: 'w',
    issuer: 'https://ci.example',
    subject: 's',
    audience: 'a',
    clientId: 'parent',
    scopes: 'nope',
  },
}

/** What a document is beside, where its rule is about several of its kind. */
const beside: Readonly<Record<string, Doc>> = { agent: { name: 'b', clientId: 'parent' } }

const parents: Readonly<Record<string, string>> = {
  client: 'parent',
  'saml-client': 'sp',
  'identity-provider': 'google',
}

/** What a parent has to have beside its key. */
const required: Readonly<Record<string, object>> = {
  'saml-client': { assertionConsumerServiceUrl: 'https://sp.example/acs' },
  'identity-provider': { protocol: 'google', config: { clientId: 'us' } },
}

/** An entry of the section that a kind of parents has, with documents below it. */
const parentEntry = (parentKind: string, below: object) => {
  const { section, keyFields } = kindNamed(parentKind)
  const own = { [keyFields[0] ?? '']: parents[parentKind] }
  return { [section]: [{ ...own, ...required[parentKind], ...below }] }
}

const draftOf = (kindName: string, doc: Doc, parentKey?: string): Draft => {
  const kind = kindNamed(kindName)
  const { doc: body, secrets } = splitSecrets(kind, doc)
  const key = keyOf(kind, body, parentKey)
  const id = `${kindName} ${key}`
  return {
    id,
    kind,
    before: null,
    key,
    body: compact(kind, body),
    secrets,
    sealed: {},
    origin: 'declared',
    owner: null,
    protected: false,
    named: true,
    stated: true,
    seed: false,
    at: undefined,
  }
}

const onServer = (kindName: string, doc: Doc) => {
  const { parentKind } = kindNamed(kindName)
  const drafts = new Drafts(emptySnapshot)
  for (const { kind, doc: seed } of seeds) drafts.add(draftOf(kind.kind, seed))
  drafts.add(draftOf('client', { clientId: 'parent' }))
  const other = beside[kindName]
  if (other) drafts.add(draftOf(kindName, other))
  const draft = draftOf(kindName, doc, parentKind === null ? undefined : parents[parentKind])
  drafts.add(draft)
  return withSharedRules({}).get(kindName)?.check?.(draft, drafts) ?? []
}

const inFiles = async (kindName: string, doc: Doc) => {
  const { section, parentKind, shape } = kindNamed(kindName)
  const list = shape === 'singleton' ? doc : [doc, beside[kindName] ?? []].flat()
  const realm =
    parentKind === null
      ? { clients: [{ clientId: 'parent' }], [section]: list }
      : parentEntry(parentKind, { [section]: list })
  return (await check(JSON.stringify({ realm: 'acme', ...realm }))).diagnostics
}

describe('a shared rule', () => {
  it('is tested for every kind that has one', () => {
    expect(Object.keys(broken).sort()).toEqual([...rules.keys()].sort())
  })

  it.each(Object.entries(broken))('of %s says the same on both sides', async (kindName, doc) => {
    const errors = onServer(kindName, doc)
    const diagnostics = await inFiles(kindName, doc)
    expect(errors.length).toBeGreaterThan(0)
    for (const { code, message } of errors)
      expect(
        diagnostics.filter((one) => one.code === code && one.message.endsWith(`: ${message}`)),
        `${code}: ${message}`,
      ).not.toEqual([])
    const known = new Set(errors.map(({ code, message }) => `${code}\n${message}`))
    const fromSchema = new Set(['missing-reference', 'unchecked-reference'])
    for (const { code, message, severity } of diagnostics)
      if (severity === 'error' && !fromSchema.has(code))
        expect(known).toContain(`${code}\n${message.slice(message.indexOf(': ') + 2)}`)
  })

  it('sees the secrets that are stored, and those that are given', () => {
    const draft = draftOf('client', { clientId: 'web', publicClient: true })
    const drafts = new Drafts(emptySnapshot)
    drafts.add(draft)
    const checkClient = withSharedRules({}).get('client')?.check
    expect(checkClient?.(draft, drafts)).toEqual([])
    const given = { ...draft, secrets: { '/secret': 'x' } }
    expect(checkClient?.(given, drafts)).toMatchObject([{ field: '/secret' }])
    const provider = draftOf('identity-provider', { alias: 'i', protocol: 'google' })
    const stored = { ...provider, sealed: { '/config/clientId': { sealed: 'x' } } }
    const checkProvider = withSharedRules({}).get('identity-provider')?.check
    expect(checkProvider?.(provider, drafts)).toMatchObject([{ field: '/config/clientId' }])
    expect(checkProvider?.(stored as unknown as Draft, drafts)).toEqual([])
  })

  it('comes before what only the server can check', () => {
    const own = { field: '/x', code: 'own', message: 'of the server' }
    const behaviours = withSharedRules({ role: { check: () => [own] } })
    const draft = draftOf('role', { name: 'r', composites: ['r'] })
    const drafts = new Drafts(emptySnapshot)
    drafts.add(draft)
    expect(behaviours.get('role')?.check?.(draft, drafts)).toMatchObject([{ code: 'cycle' }, own])
  })
})
