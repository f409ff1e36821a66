/** The expected export of a realm, as values and as files, and the places of its secrets. */

import { expect } from 'vitest'
import type { Api } from '#cli/client/api.ts'
import { actualOf } from '#cli/planning/actual.ts'
import type { RealmPlan } from '#cli/planning/plan.ts'
import { realmText } from '#cli/views/yaml/realm.ts'
import type { Vault } from '#server/keys/vault.ts'
import { filesOf, planOf } from './files.ts'
import type { Sketch } from './sketch.ts'
import { hashedSince, type State, source } from './state.ts'
import { environment } from './values.ts'

/** The export says what the tables say: all of it, and nothing else. */
export const expectExported = async (api: Api, realm: string, state: State): Promise<void> => {
  const exported = await api.exportRealm(realm, { builtIns: true, ids: true })
  const { documents } = actualOf(exported)
  const said = [...documents.values()].map((one) => ({
    id: exported.meta.documents[one.kind.kind]?.[one.key]?.id ?? '',
    kind: one.kind.kind,
    key: one.key,
    body: one.body,
    owner: one.owner,
    protected: one.protected,
    secrets: [...one.storedSecrets].sort(),
  }))
  const stored = [...state.documents.values()]
    .filter(({ origin }) => origin !== 'runtime')
    .map(({ id, kind, key, body, owner, protected: isProtected, secrets }) => ({
      id,
      kind,
      key,
      body,
      owner,
      protected: isProtected,
      secrets: Object.keys(secrets).sort(),
    }))
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)
  expect(said.sort(byId)).toEqual(stored.sort(byId))
  expect(exported.revision).toBe(state.revision)
}

/** What export writes for people is valid, and says what is there: to plan it changes nothing but owners. */
export const expectWritten = async (api: Api, realm: string): Promise<void> => {
  const files = await filesOf(realmText(await api.exportRealm(realm, {})), environment)
  const { plan } = await planOf(api, files, { source })
  expect(plan.problems).toEqual([])
  expect(plan.changes.filter(({ action }) => action !== 'adopt')).toEqual([])
}

/** Secrets that the files give are theirs; those that the plan does not set are what they were, or its hash. */
export const expectSecrets = (
  vault: Vault,
  before: State,
  after: State,
  { changes }: RealmPlan,
  { items }: Sketch,
): void => {
  const nameOf = (kind: string, key: string, pointer: string): string =>
    [kind, key, pointer].join(' ')
  const set = new Set(
    changes.flatMap(({ kind, key, secrets }) =>
      secrets.map(({ pointer }) => nameOf(kind, key, pointer)),
    ),
  )
  const wrong: string[] = []
  for (const now of after.documents.values()) {
    const item = items.find(({ kind, key }) => kind === now.kind && key === now.key)
    const was = before.documents.get(now.id)?.secrets ?? {}
    for (const [pointer, stored] of Object.entries(now.secrets)) {
      const name = nameOf(now.kind, now.key, pointer)
      const value = environment[item?.secrets[pointer] ?? '']
      if (value !== undefined && !vault.matches(now, pointer, stored, value))
        wrong.push(`${name} is not what the files say`)
      if (pointer in was && !set.has(name))
        expect(stored, name).toEqual(hashedSince(was, now.secrets)[pointer])
    }
  }
  expect(wrong).toEqual([])
}
