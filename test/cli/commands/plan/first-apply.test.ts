/** The first apply of a realm makes everything in its files effective, secrets included. */
import { describe, expect, it } from 'vitest'
import { signIn } from '../../../support/processes/browserless.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'
import { newValues, realmWith, secretDocuments } from '../secrets/secret-documents.ts'

const world = sharedWorld()

interface PlannedSecret {
  readonly kind: string
  readonly pointer: string
  readonly change: string
}

const secretsIn = (stdout: string): PlannedSecret[] =>
  JSON.parse(stdout).realms.flatMap(
    ({ changes }: { changes: { kind: string; secrets: PlannedSecret[] }[] }) =>
      changes.flatMap(({ kind, secrets }) =>
        secrets.map(({ pointer, change }) => ({ kind, pointer, change })),
      ),
  )

const initial = 'user /initialPassword'
const names = (secrets: readonly { kind: string; pointer: string }[]): string[] =>
  secrets.map(({ kind, pointer }) => `${kind} ${pointer}`).sort()

describe('the first apply of a realm', () => {
  it('sets every secret of every kind, the next plan is empty, and the values are in force', async () => {
    const realm = newRealm()
    const values = newValues()
    const { run } = newEstate(world(), { 'realm.yaml': realmWith(realm) }, values)
    const first = await run('plan realm.yaml -o json')
    expect(first.code, first.stderr).toBe(0)
    expect(secretsIn(first.stdout).every(({ change }) => change === 'set')).toBe(true)
    expect(names(secretsIn(first.stdout))).toEqual(names(secretDocuments))
    const applied = await run('apply realm.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    const second = await run('plan realm.yaml --detailed-exitcode')
    expect(second.code, second.stdout).toBe(0)
    // Other values differ from all that are kept: none of these was lost, and none was replaced.
    const other = newEstate(world(), { 'realm.yaml': realmWith(realm) }, newValues())
    const changed = secretsIn((await other.run('plan realm.yaml -o json')).stdout)
    expect(names(changed)).toEqual(names(secretDocuments).filter((name) => name !== initial))
    expect(changed.every(({ change }) => change === 'changed')).toBe(true)
    await signIn(world().server.url, realm, 'ann', values['USER_0'] ?? '')
  })

  it.each(secretDocuments)(
    'sets $pointer of $kind where it is the only secret',
    async (document) => {
      const realm = newRealm()
      const { run } = newEstate(
        world(),
        { 'realm.yaml': realmWith(realm, [document]) },
        newValues(),
      )
      const applied = await run('apply realm.yaml --auto-approve')
      expect(applied.code, applied.stderr).toBe(0)
      const second = await run('plan realm.yaml --detailed-exitcode')
      expect(second.code, second.stdout).toBe(0)
    },
  )
})
