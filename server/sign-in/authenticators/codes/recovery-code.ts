/** One of the codes kept for emergencies. A code that was used is gone. */

import type { Checked } from '#server/credentials/attempt.ts'
import { changeSecret } from '#server/credentials/credentials.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import {
  type RecoveryCodeSet,
  recoveryCodeDigest,
} from '#server/credentials/factors/recovery-codes.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import type { Storage } from '#server/storage/contract.ts'
import { refused, type Step, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly factors: Factors
}

const type = 'recovery-codes'

export const recoveryCode = ({ pages, storage, factors }: Parts): Step => {
  const setsOf = async (userId: string) =>
    (await factors.ofType(userId, type)).map((row) => ({
      row,
      set: JSON.parse(row.secret) as RecoveryCodeSet,
    }))

  const check = async (userId: string, code: string): Promise<Checked> => {
    for (const { row, set } of await setsOf(userId)) {
      const digest = recoveryCodeDigest(set.salt, code)
      const left = set.digests.filter((one) => !constantTimeEqual(one, digest))
      if (left.length === set.digests.length) continue
      const rest = JSON.stringify({ ...set, digests: left })
      return { matches: true, statements: [changeSecret(storage, row, rest, type)] }
    }
    return { matches: false, statements: [] }
  }

  return {
    id: 'recovery-code',
    amr: 'otp',
    factor: true,
    suits: async ({ user }) =>
      user !== undefined && (await setsOf(user.id)).some(({ set }) => set.digests.length > 0),
    show: async () => ({
      send: (reply, page) => pages.recoveryCode(reply, { ...page, error: stepError(page.refusal) }),
    }),
    answer: async ({ user, prove }, form) => {
      const code = form('code')
      if (!user || code === '') return refused('wrong-code')
      return prove(type, () => check(user.id, code))
    },
  }
}
