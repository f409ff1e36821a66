/** The page of the sign-in methods of the user, to add and remove them. */

import { Problem } from '#schemas/problems.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { codesLeft, type OwnCredentials } from '../credentials/credentials.ts'
import type { AccountFactorsPage, OwnFactor, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface FactorsPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly credentials: OwnCredentials
}

export const factorsPath = '/security'

/** Kinds by the type of the credential; the password has a page of its own. */
const kinds: Readonly<Record<string, OwnFactor['kind']>> = {
  otp: 'totp',
  webauthn: 'passkey',
  'recovery-codes': 'recovery-codes',
  push: 'push',
}

const addable = ['totp', 'passkey', 'recovery-codes'] as const

/** Where each is added. */
export const additionPath = (kind: (typeof addable)[number]): `/${string}` =>
  `${factorsPath}/${kind}`

const factorOf = (row: CredentialRow): OwnFactor[] => {
  const kind = kinds[row.type]
  if (kind === undefined) return []
  return [
    {
      id: row.id,
      kind,
      label: row.label ?? undefined,
      createdAt: row.created_at,
      left: codesLeft(row),
    },
  ]
}

export const factorsPage = (parts: FactorsPageParts): AccountPage => {
  const { pages, frame, credentials } = parts

  const show = async (
    visit: UserVisit,
    told: Pick<Partial<AccountFactorsPage>, 'error' | 'status'> = {},
  ) =>
    pages.accountFactors(visit.reply, {
      ...(await frame(visit, factorsPath)),
      factors: (await credentials.of(selfOf(visit))).flatMap(factorOf),
      addable: visit.session.impersonator === null ? addable : [],
      ...told,
    })

  return {
    path: factorsPath,
    section: 'security',
    name: 'factors-page',
    summary: 'How the user signs in',
    show: (visit) => show(visit),
    fields: ['remove', 'add'],
    events: ['REMOVE_CREDENTIAL'],
    submit: async (visit, form) => {
      const kind = addable.find((one) => one === form.get('add'))
      if (kind) return goTo(visit, additionPath(kind))
      try {
        await credentials.remove(selfOf(visit), form.get('remove') ?? '')
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'in-use') throw error
        return show(visit, { error: 'last-factor', status: error.status })
      }
      return goTo(visit, factorsPath, 'removed')
    },
  }
}
