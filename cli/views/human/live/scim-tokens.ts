/** Tokens of senders of SCIM, one a line. */

import type { ScimTokenRecord } from '#schemas/wire/scim.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { moment } from '../elements/values.ts'

export interface ScimTokenList {
  readonly realm: string
  readonly tokens: readonly ScimTokenRecord[]
}

const endOf = ({ timestamp, expiration }: ScimTokenRecord): string =>
  expiration === 0 ? 'unlimited' : moment(timestamp + expiration * 1000)

export const showScimTokens = (
  { realm, tokens }: ScimTokenList,
  call: { readonly quiet: boolean },
): void =>
  tokens.length === 0
    ? note(call, `realm ${realm} has no SCIM tokens`)
    : printTable(
        ['token', 'sender', 'for', 'label', 'good until', 'last used'],
        tokens.map((token) => [
          token.id,
          token.sender,
          token.scopes.join(', '),
          token.label ?? '',
          endOf(token),
          token.lastUsedAt === null ? 'never' : moment(token.lastUsedAt),
        ]),
      )
