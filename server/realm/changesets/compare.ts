/**
 * Compares a realm with files without sending it: hashes of sections, and secrets, whose only result is "differs". It could
 * be used for guessing secrets, so it needs the write permission of each kind, and the permissions that a write of each
 * document with a given secret needs.
 */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Provisioning } from '#schemas/kinds/provisioning/provisioning.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import { sectionKinds, sectionOf } from '#schemas/realm/realm-document.ts'
import { type Hashed, sectionHash } from '#schemas/realm/section-hash.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import type { CompareReply, CompareRequest, Place, SecretPlace } from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import { isStorable } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { readAtOneRevision } from '../read/configuration.ts'
import { mayRead, refuseUnlessMayWrite } from '../rules/access.ts'
import type { RefuseUnlessOutranked } from '../rules/stronger.ts'
import { placeOf } from '../write/operations.ts'

type Secret = NonNullable<CompareRequest['secrets']>[number]

/** So many documents are named; the figure beside them tells how many there are. */
const mostNamed = 200
/** How much is done before others get their turn: a few milliseconds. */
const slice = 250

const byName = new Map(kinds.map((kind) => [kind.kind, kind]))

/** One guess a secret and request: who repeats one is refused. */
const secretErrors = (secrets: readonly Secret[]): FieldError[] => {
  const seen = new Set<string>()
  return secrets.flatMap(({ kind: name, key, pointer }, i) => {
    const at = `/secrets/${i}`
    const kind = byName.get(name)
    if (!kind) return [{ field: `${at}/kind`, code: 'enum', message: `there is no kind "${name}"` }]
    if (!secretFields(kind).some((secret) => secret.pointer === pointer))
      return [{ field: `${at}/pointer`, code: 'enum', message: 'is no secret of this kind' }]
    const place = `${placeOf(name, key)}\n${pointer}`
    if (seen.has(place)) return [{ field: at, code: 'duplicate', message: 'stands twice' }]
    seen.add(place)
    return []
  })
}

const sectionErrors = (names: readonly string[]): FieldError[] =>
  names
    .filter((name) => !sectionKinds.some(({ section }) => section === name))
    .map((name) => ({
      field: `/sectionHashes/${name}`,
      code: 'enum',
      message: 'there is no such section',
    }))

/** What hashes, lists and secrets need beside id, key and origin: no bodies. */
const columns = ['kind', 'hash', 'owner', 'protected', 'sealed'] as const

interface Sealed {
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly sealed: string | null
}

interface Listed extends Hashed, Sealed {
  readonly origin: StoredDocument['origin']
  readonly owner: string | null
}

/** Documents that are no configuration, and of which secrets are given: a file may be about to name one. */
const runtimeSealed = async (
  db: Kysely<Tables>,
  realm: string,
  secrets: readonly Secret[],
): Promise<Sealed[]> => {
  const found: Sealed[] = []
  for (const [kind, all] of Map.groupBy(secrets, (secret) => secret.kind)) {
    const keys = [...new Set(all.map(({ key }) => key))].filter(isStorable)
    for (let start = 0; start < keys.length; start += slice)
      found.push(
        ...(await db
          .selectFrom('documents')
          .select(['id', 'kind', 'key', 'sealed'])
          .where('realm', '=', realm)
          .where('kind', '=', kind)
          .where('key', 'in', keys.slice(start, start + slice))
          .execute()),
      )
  }
  return found
}

/** Of documents that exist: the others are yet to be made, with all their secrets. What is used at birth never differs. */
const differing = async (
  { db, vault, caller, refuseUnlessOutranked }: Comparing,
  realm: string,
  secrets: readonly Secret[],
  documents: readonly Sealed[],
): Promise<SecretPlace[]> => {
  const lasting = secrets.filter(
    ({ kind, pointer }) =>
      secretFields(kindNamed(kind)).find((secret) => secret.pointer === pointer)?.mark.store !==
      'initial',
  )
  if (lasting.length === 0) return []
  const stored = new Map(lasting.map(({ kind }) => [kind, new Map<string, Sealed>()]))
  const ownOf = ({ kind, key }: Place): Sealed | undefined => stored.get(kind)?.get(key)
  for (const one of documents) stored.get(one.kind)?.set(one.key, one)
  const strange = lasting.filter((secret) => ownOf(secret) === undefined)
  for (const one of await runtimeSealed(db, realm, strange)) stored.get(one.kind)?.set(one.key, one)
  const asked = new Set(lasting.flatMap((secret) => ownOf(secret) ?? []))
  await refuseUnlessOutranked(realm, [...asked], caller)
  const found: SecretPlace[] = []
  for (const [i, secret] of lasting.entries()) {
    const { kind, key, pointer, value } = secret
    const own = ownOf(secret)
    const kept: Readonly<Record<string, StoredSecret>> = JSON.parse(own?.sealed ?? '{}')
    if (own && !vault.matches({ realm, kind, id: own.id }, pointer, kept[pointer], value))
      found.push({ kind, key, pointer })
    if (i % slice === slice - 1) await breathe()
  }
  return found
}

/** The kinds that a request asks about: the sections' own, what the source has below them, and those of the secrets. */
const askedAbout = (
  { source, sectionHashes, secrets = [] }: CompareRequest,
  documents: readonly Listed[],
): ReadonlySet<Kind> => {
  const asked = new Set(sectionKinds.filter(({ section }) => section in sectionHashes))
  for (const { kind: name, owner } of documents) {
    const kind = kindNamed(name)
    if (owner === source && sectionOf(kind) in sectionHashes) asked.add(kind)
  }
  for (const { kind } of secrets) asked.add(kindNamed(kind))
  return asked
}

/** Users that a rollback gave back, and that have no credentials since: theirs went when they were deleted. */
const givenBackWithout = async (
  db: Kysely<Tables>,
  realm: string,
): Promise<ReadonlySet<string>> => {
  const rows = await db
    .selectFrom('revision_operations')
    .innerJoin('revisions', (join) =>
      join
        .onRef('revisions.realm', '=', 'revision_operations.realm')
        .onRef('revisions.revision', '=', 'revision_operations.revision'),
    )
    .select('document_id')
    .distinct()
    .where('revisions.realm', '=', realm)
    .where('revisions.source', '=', 'rollback')
    .where('op', '=', 'create')
    .where('kind', '=', User.kind)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('credentials')
            .select('id')
            .whereRef('credentials.user_id', '=', 'revision_operations.document_id'),
        ),
      ),
    )
    .execute()
  return new Set(rows.map(({ document_id }) => document_id))
}

/** They are no configuration, and stay whatever is pruned: a plan names them beside the unmanaged documents. */
const registeredClients = async (
  db: Kysely<Tables>,
  realm: string,
): Promise<Pick<CompareReply, 'registered' | 'registeredCount'>> => {
  const rows = db
    .selectFrom('documents')
    .where('realm', '=', realm)
    .where('kind', '=', Client.kind)
    .where('origin', '=', 'runtime')
  const registered = await rows.select(['kind', 'key']).orderBy('key').limit(mostNamed).execute()
  if (registered.length < mostNamed)
    return registered.length === 0 ? {} : { registered, registeredCount: registered.length }
  const { count } = await rows
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { registered, registeredCount: Number(count) }
}

const placesOf = (documents: readonly Listed[]): Place[] =>
  documents.slice(0, mostNamed).map(({ kind, key }) => ({ kind, key }))

export interface Comparing {
  readonly db: Kysely<Tables>
  readonly vault: Vault
  readonly caller: Caller
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
}

/** Undefined where there is no such realm. */
export const compareRealm = async (
  realm: string,
  request: CompareRequest,
  comparing: Comparing,
): Promise<CompareReply | undefined> => {
  const { db, caller } = comparing
  const { source, sectionHashes, secrets = [] } = request
  const given = Object.keys(sectionHashes)
  const errors = [...sectionErrors(given), ...secretErrors(secrets)]
  if (errors.length > 0) throw invalid(errors)
  const listed = await readAtOneRevision<(typeof columns)[number], Listed>(
    db,
    realm,
    kinds.map(({ kind }) => kind),
    columns,
    // Column by column: rows of SQLite are dictionaries, and so are copies of them.
    ({ id, kind, key, origin, hash, owner, sealed, protected: isProtected }) => ({
      id,
      kind,
      key,
      origin,
      hash,
      owner,
      sealed,
      protected: isProtected === 1,
    }),
  )
  if (!listed) return undefined
  const { revision } = listed
  const documents = [...listed.documents.values()]
  refuseUnlessMayWrite(caller, askedAbout(request, documents))

  const bySection = Map.groupBy(documents, ({ kind }) => sectionOf(kindNamed(kind)))
  const ownedIn = (section: string): Listed[] =>
    (bySection.get(section) ?? []).filter(({ owner }) => owner === source)
  const visible = ({ kind }: Listed): boolean => mayRead(caller, kindNamed(kind))
  const unmanaged = given.flatMap((section) =>
    (bySection.get(section) ?? []).filter(
      (document) =>
        document.owner !== source &&
        (document.origin !== 'built-in' || document.owner !== null) &&
        visible(document),
    ),
  )
  const orphaned = [...bySection.keys()]
    .filter((section) => !given.includes(section))
    .flatMap(ownedIn)
    .filter(visible)
  const without = User.section in sectionHashes ? await givenBackWithout(db, realm) : new Set()
  const lacking =
    without.size === 0 ? [] : ownedIn(User.section).filter(({ id }) => without.has(id))
  // Files with `provisioning` get the registered clients too, also where they declare no client.
  const isAbout = [Client, Provisioning].some(({ section }) => section in sectionHashes)
  const asksClients = isAbout && mayRead(caller, Client)
  return {
    ...(asksClients ? await registeredClients(db, realm) : {}),
    ...(lacking.length === 0 ? {} : { withoutCredentials: placesOf(lacking) }),
    revision,
    differingSections: given.filter(
      (section) => sectionHash(ownedIn(section)) !== sectionHashes[section],
    ),
    differingSecrets: await differing(comparing, realm, secrets, documents),
    unmanaged: unmanaged.slice(0, mostNamed).map(({ kind, key, owner }) => ({ kind, key, owner })),
    unmanagedCount: unmanaged.length,
    orphaned: placesOf(orphaned),
    orphanedCount: orphaned.length,
  }
}
