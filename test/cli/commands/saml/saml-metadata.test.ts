/** `iamctl import saml-metadata`, and realm files whose service providers follow their metadata. */

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { acs, aggregate, entity, keyDescriptor } from '../../../saml/metadata/sp-metadata.ts'
import { sender, stranger } from '../../../xml/keys.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { freshHome, startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const entityId = 'https://wiki.example/saml'
/** Looks like a reference of a realm file. */
const odd = 'https://wiki.example/other?a=$' + '{b}'
const wiki = (id = entityId, certificate = sender.certificate): string =>
  entity({
    entityId: id,
    role: ' AuthnRequestsSigned="true"',
    inside: `${keyDescriptor(certificate)}
      <md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</md:NameIDFormat>
      ${acs('https://wiki.example/acs', 0)}${acs(odd, 1)}`,
  })

const estate = (files: Readonly<Record<string, string>>): Estate =>
  newEstate(world(), { 'iamctl.yaml': 'source: test\npaths: [realm.yaml]\n', ...files })

const expectDone = async ({ run }: Estate, command: string, ...args: string[]) => {
  const result = await run(command, ...args)
  expect(result.code, result.stderr + result.stdout).toBe(0)
  return result
}

describe('import saml-metadata', () => {
  it('writes, without a server, a realm file that validates and plans to no changes after an apply', async () => {
    const realm = newRealm()
    const files = estate({ 'wiki.xml': wiki() })
    const offline = freshHome(world(), { IAMCTL_SERVER: 'http://127.0.0.1:1' })
    const args = ['import', 'saml-metadata', 'wiki.xml', '--realm', realm]
    const { code, stdout, stderr } = await offline.run(args, { cwd: files.folder })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('      -----BEGIN CERTIFICATE-----\n')
    expect(stdout).not.toContain('metadataUrl')
    files.write({ 'realm.yaml': stdout })
    await expectDone(files, 'validate')
    await expectDone(files, 'fmt --check')
    await expectDone(files, 'apply --auto-approve')
    expect((await expectDone(files, 'plan')).stdout).toContain('No changes.')
    const path = `/admin/realms/${realm}/saml-clients/${encodeURIComponent(entityId)}`
    expect((await world().admin.send('GET', path)).body).toMatchObject({
      entityId,
      acs: [{ index: 0 }, { index: 1, url: odd }],
      options: { nameIdFormat: 'email', wantAuthnRequestsSigned: true },
    })
  })

  it('reads an address, and lets the server read it again', async () => {
    const server = createServer((request, response) =>
      request.url === '/metadata?x=1'
        ? response.end(wiki())
        : response.writeHead(302, { location: '/metadata?x=1' }).end(),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metadata?x=1`
    const { run } = estate({})
    const { code, stdout } = await run('import saml-metadata --realm acme -o json', url)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      realm: 'acme',
      samlClients: [{ entityId, metadataUrl: url, metadataRefresh: '1d' }],
    })
    const moved = await run('import saml-metadata --realm acme', url.replace('?x=1', ''))
    expect([moved.code, moved.stderr]).toEqual([1, expect.stringContaining('status 302')])
    const plain = await run('import saml-metadata --realm acme http://wiki.example/metadata')
    expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('not encrypted')])
  })

  it.each([
    ['https://', 1, 'is not a valid address'],
    ['https://[wiki.example/metadata', 1, 'is not a valid address'],
    ['http://127.0.0.1:1/metadata', 5, 'save the metadata, and name the file'],
    ['https://wiki.invalid/metadata', 5, 'save the metadata, and name the file'],
  ])(
    'says of the address %s what is wrong, and nothing about --server',
    async (from, code, told) => {
      const offline = freshHome(world(), { IAMCTL_SERVER: 'http://127.0.0.1:2' })
      const result = await offline.run(['import', 'saml-metadata', from, '--realm', 'acme'])
      expect([result.code, result.stdout]).toEqual([code, ''])
      expect(result.stderr).toContain(told)
      expect(result.stderr).not.toMatch(/--server|iamctl server|TypeError/)
    },
  )

  it('asks which service provider of an aggregate is meant', async () => {
    const all = aggregate([wiki('https://a.example'), wiki('https://b.example')])
    const { run } = estate({ 'all.xml': all })
    const asked = await run('import saml-metadata all.xml --realm acme')
    expect(asked.code).toBe(3)
    expect(asked.stderr).toContain('https://a.example, https://b.example')
    const { stdout } = await run(
      'import saml-metadata all.xml --realm acme --entity-id https://b.example',
    )
    expect(stdout).toContain('entityId: https://b.example\n')
  })

  it.each([
    ['no file', 'gone.xml', 1],
    ['an expired document', 'expired.xml', 3],
    ['a bomb', 'bomb.xml', 3],
  ])('refuses %s', async (_what, file, exitCode) => {
    const { run } = estate({
      'expired.xml': wiki().replace(' entityID', ' validUntil="2020-01-01T00:00:00Z" entityID'),
      'bomb.xml': `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>`,
    })
    const { code, stdout, stderr } = await run(`import saml-metadata ${file} --realm acme`)
    expect([code, stdout]).toEqual([exitCode, ''])
    if (file === 'expired.xml') expect(stderr).toContain('/EntityDescriptor/@validUntil')
  })
})

const pem = (certificate: string): string =>
  certificate
    .replaceAll(/(.{64})/g, '$1\n')
    .trim()
    .replaceAll('\n', '\n      ')

const file = (realm: string, certificate: string): string => `realm: ${realm}

samlClients:
  # The wiki of the whole company.
  - entityId: ${entityId} # as in its metadata
    assertionConsumerServiceUrl: https://wiki.example/acs
    metadataUrl: https://wiki.example/metadata
    metadataRefresh: 1d # its key changes every year
    # Written by adopt.
    signingCertificate: |
      -----BEGIN CERTIFICATE-----
      ${pem(certificate)}
      -----END CERTIFICATE-----
`

describe('a service provider that follows its metadata', () => {
  it('is not changed back by a plan, is shown by drift with the fingerprints, and is adopted with its comments', async () => {
    const realm = newRealm()
    const files = estate({ 'realm.yaml': file(realm, sender.certificate) })
    await expectDone(files, 'apply --auto-approve')
    expect((await expectDone(files, 'drift')).stdout).toContain('No changes.')

    // As the server does when it reads the metadata again.
    const path = `/admin/realms/${realm}/saml-clients/${encodeURIComponent(entityId)}`
    const { admin } = world()
    const {
      applicationId: _,
      realmId: __,
      ...doc
    } = (await admin.send('GET', path)).body as Record<string, unknown>
    const changed = { ...doc, signingCertificate: stranger.x509.toString() }
    expect((await admin.send('PUT', path, changed)).status).toBe(200)

    const plan = await expectDone(files, 'plan')
    expect(plan.stdout).toContain('No changes.')
    expect(plan.stdout + plan.stderr).toContain('the server has read other values than the files')
    await expectDone(files, 'apply --auto-approve')
    expect((await admin.send('GET', path)).body).toMatchObject({
      signingCertificate: stranger.x509.toString(),
    })

    const drift = await files.run('drift')
    expect(drift.code).toBe(2)
    for (const { x509 } of [sender, stranger]) expect(drift.stdout).toContain(x509.fingerprint256)
    expect(drift.stdout).not.toContain('BEGIN CERTIFICATE')
    expect(drift.stdout).toContain('last changed by admin')

    await expectDone(files, 'adopt')
    const text = readFileSync(join(files.folder, 'realm.yaml'), 'utf8')
    expect(text).toBe(file(realm, stranger.certificate))
    expect((await expectDone(files, 'drift')).stdout).toContain('No changes.')
  })
})

describe('certificates', () => {
  it('are told by subject, expiry and fingerprint in plans, applies, history and rollbacks, never as base64', async () => {
    const realm = newRealm()
    const first = file(realm, sender.certificate).replace(/ {4}metadata.*\n/g, '')
    const files = estate({ 'realm.yaml': `realm: ${realm}\n` })
    await expectDone(files, 'apply --auto-approve')
    files.write({ 'realm.yaml': first })
    const outputs = [
      await expectDone(files, 'plan'),
      await expectDone(files, 'plan -o markdown'),
      await expectDone(files, 'apply --auto-approve'),
    ]
    const second = first.replace(pem(sender.certificate), pem(stranger.certificate))
    files.write({ 'realm.yaml': second })
    outputs.push(await expectDone(files, 'plan'), await expectDone(files, 'plan -o markdown'))
    const { stdout: json } = await expectDone(files, 'plan -o json')
    expect(JSON.parse(json).certificates).toMatchObject([
      { realm, key: entityId, change: 'remove', sha256: sender.x509.fingerprint256 },
      {
        ...{ kind: 'saml-client', pointer: '/signingCertificate', change: 'add' },
        ...{ subject: 'CN=party', sha256: stranger.x509.fingerprint256 },
      },
    ])
    outputs.push(await expectDone(files, 'apply --auto-approve'))
    const on = ['--realm', realm]
    const { stdout: listed } = await expectDone(files, 'history -o json', ...on)
    const [now, before] = JSON.parse(listed).map((one: { revision: number }) =>
      String(one.revision),
    )
    outputs.push(
      await expectDone(files, 'history show', now, ...on),
      await expectDone(files, 'history show', before, ...on),
      await expectDone(files, 'history diff', before, now, ...on),
      await expectDone(files, 'rollback --plan', before, ...on),
    )
    for (const [index, { stdout }] of outputs.entries()) {
      expect(stdout, `${index}`).not.toMatch(/MII|BEGIN CERTIFICATE/)
      expect(
        [sender, stranger].some(({ x509 }) => stdout.includes(x509.fingerprint256)),
        stdout,
      ).toBe(true)
    }
  })
})
