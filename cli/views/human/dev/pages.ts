/** Addresses and accounts as rows of the dashboard: the most useful first, because the last are cut off. */

import { harmless } from '../elements/text.ts'
import type { DashboardState } from './state.ts'
import { passwordOf } from './words.ts'

export interface PageRow {
  /** Empty where it is that of the row above. */
  readonly label: string
  readonly text: string
}

const labelled = (label: string, texts: readonly string[]): PageRow[] =>
  texts.map((text, i) => ({ label: i === 0 ? label : '', text }))

const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

export const pageRows = ({ realms, users, admin, docs, api }: DashboardState): PageRow[] => {
  const several = realms.length > 1
  const signIns = [
    ...realms.map(({ realm, signIn }) => [realm, signIn]),
    ...(admin === null ? [] : [['master', admin.signIn]]),
  ]
  const people = [
    ...users.map((user) => [
      ...(several ? [user.realm] : []),
      harmless(user.username),
      passwordOf(user),
    ]),
    ...(admin === null
      ? []
      : [
          [
            ...(several ? ['master'] : []),
            admin.username,
            `${admin.password}${several ? '' : '  (realm master)'}`,
          ],
        ]),
  ]
  return [
    ...labelled('Sign in', columns(signIns)),
    ...labelled('Users', columns(people)),
    ...labelled('API docs', docs === null ? [] : [docs]),
    ...labelled('Admin API', api === null ? [] : [api]),
    ...labelled(
      'Discovery',
      realms.flatMap(({ discovery }) => (discovery === null ? [] : [discovery])),
    ),
  ]
}
