/** Users and groups of a sender, and files that declare some of them (docs/decisions/provisioned-users.md). */

import { expect, it } from 'vitest'
import { put, senderTo, user } from '../realm/changesets/changeset.ts'
import { groupSchema, openSite } from './sender.ts'

const site = openSite()

const exported = async (query: string) =>
  (await site.world.admin('GET', `/export?${query}`)).body.meta

it('belong to their sender in exports; to the estate once it declares them', async () => {
  const hr = await site.world.sender({ sender: 'hr' })
  const entra = await site.world.sender({ sender: 'entra' })
  const { id } = await hr.user('of-two')
  await entra.patch(`/Users/${id}`, { op: 'add', path: 'externalId', value: 'e-2' })
  await site.world.admin('POST', '/users', { username: 'by-hand' })
  await hr.group('Payroll')
  const { unmanagedUsers } = await exported('users=all')
  expect(unmanagedUsers).toMatchObject({
    'of-two': { owner: 'scim:entra, scim:hr' },
    'by-hand': {},
  })
  expect(unmanagedUsers['by-hand'].owner).toBeUndefined()
  expect((await exported('runtime=true')).documents.group['/Payroll']).toMatchObject({
    origin: 'runtime',
    owner: 'scim:hr',
  })
  await senderTo(site.world.server, 'acme').apply([put('group', '/Payroll', { name: 'Payroll' })])
  expect((await exported('')).documents.group['/Payroll']).toMatchObject({
    origin: 'declared',
    owner: 'estate',
  })
})

it('are users that no changeset overwrites unless it takes them over; the dry run tells what goes', async () => {
  const sales = await site.scim.group('Sales')
  const { id } = await site.scim.user('provided', {
    title: 'Chief',
    active: false,
    emails: [{ value: 'provided@acme.example', type: 'work', primary: true }],
  })
  const joined = { op: 'add', path: 'members', value: [{ value: id }] }
  await site.scim.patch(`/Groups/${sales.id}`, joined)
  const to = senderTo(site.world.server, 'acme')
  const operations = [user('provided', { firstName: 'Pro' })]
  for (const head of [{}, { dryRun: true }])
    expect(await to.apply(operations, head)).toMatchObject({
      status: 409,
      body: {
        code: 'owned',
        documents: [{ kind: 'user', key: 'provided', owner: 'scim:default' }],
        errors: [{ field: '/operations/0', code: 'owned' }],
      },
    })
  const before = (await site.scim.send('GET', `/Users/${id}`)).body
  expect(before).toMatchObject({ title: 'Chief', active: false, groups: [{ display: 'Sales' }] })
  const tried = await to.apply(operations, { dryRun: true, takeOver: true })
  expect(tried.body.impacts).toMatchObject([
    {
      kind: 'user',
      key: 'provided',
      replaces: expect.arrayContaining(['email', 'enabled', 'attributes.title', 'groups']),
    },
  ])
  expect((await to.apply(operations, { takeOver: true })).status).toBe(200)
  expect((await to.apply([user('provided', { firstName: 'Prudence' })])).status).toBe(200)
  expect((await site.scim.send('GET', `/Users/${id}`)).body).toMatchObject({
    name: { givenName: 'Prudence' },
    active: true,
  })
})

it('are told apart from users that no sender provisions, of whom the dry run tells what goes', async () => {
  const fields = { username: 'registered', email: 'registered@acme.example', lastName: 'Ist' }
  await site.world.admin('POST', '/users', fields)
  const to = senderTo(site.world.server, 'acme')
  const dry = (more: object) => to.apply([user('registered', more)], { dryRun: true })
  expect((await dry({ lastName: 'Ist' })).body.impacts).toMatchObject([{ replaces: ['email'] }])
  const { username: _, ...same } = fields
  expect((await dry(same)).body.impacts).toEqual([])
  expect((await to.apply([user('made', {})], { dryRun: true })).body.impacts).toEqual([])
  expect((await to.apply([user('registered', {})])).status).toBe(200)
})

it('leave the tree of a file as it is when they state all members of a group', async () => {
  const { id } = await site.scim.user('statist')
  const to = senderTo(site.world.server, 'acme')
  const tree = [
    put('group', '/Tree', { name: 'Tree' }),
    put('group', '/Tree/Twig', { name: 'Twig' }),
  ]
  expect((await to.apply(tree)).status).toBe(200)
  const groupOf = async (name: string) => {
    const filter = encodeURIComponent(`displayName eq "${name}"`)
    return (await site.scim.send('GET', `/Groups?filter=${filter}`)).body.Resources[0]
  }
  const { id: treeId } = await groupOf('Tree')
  const { id: twigId } = await groupOf('Twig')
  const own = await site.scim.group('Own')
  const nest = { op: 'add', path: 'members', value: [{ value: own.id }] }
  expect((await site.scim.patch(`/Groups/${treeId}`, nest)).body.members).toHaveLength(2)
  const revision = await to.revision()
  const members = [{ value: id }]
  const all = [
    () => site.scim.patch(`/Groups/${treeId}`, { op: 'replace', path: 'members', value: [] }),
    () => site.scim.patch(`/Groups/${treeId}`, { op: 'remove', path: 'members' }),
    () =>
      site.scim.send('PUT', `/Groups/${treeId}`, {
        schemas: [groupSchema],
        displayName: 'Tree',
        members,
      }),
  ]
  for (const request of all) expect((await request()).status).toBe(200)
  const after = (await groupOf('Tree')).members.map(({ value }: { value: string }) => value)
  expect(after.toSorted()).toEqual([id, twigId].toSorted())
  expect(await to.revision()).toBe(revision)
  const named = { op: 'remove', path: `members[value eq "${twigId}"]` }
  expect((await site.scim.patch(`/Groups/${treeId}`, named)).body.members).toHaveLength(1)
  // Below a group of the sender it was the sender who put it.
  const theirs = await site.scim.group('Theirs', { members: [{ value: twigId }] })
  const none = { op: 'replace', path: 'members', value: [] }
  expect((await site.scim.patch(`/Groups/${theirs.id}`, none)).body.members).toBeUndefined()
})

it('are groups that a file adopts with their members, under the name that the sender knows', async () => {
  const { id } = await site.scim.user('member')
  const { id: groupId } = await site.scim.group('Support', { members: [{ value: id }] })
  const to = senderTo(site.world.server, 'acme')
  const answer = await to.apply([
    put('group', '/Support', { name: 'Support', attributes: { a: ['1'] } }),
  ])
  expect(answer.status).toBe(200)
  const found = await site.scim.send('GET', '/Groups?filter=displayName%20eq%20%22support%22')
  expect(found.body.Resources).toMatchObject([{ id: groupId, members: [{ value: id }] }])
})
