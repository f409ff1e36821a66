/** `iamctl authz evaluate`. */

import type { AuthzEvaluation, AuthzQuestion } from '#schemas/wire/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { choice, flags, list, text, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { readingOf } from '../../invocation/reading.ts'
import { openRealm } from '../../invocation/realm.ts'
import { fileFlags, pathsArgument, realmFlags } from '../../invocation/shared-flags.ts'
import { harmless } from '../../views/human/elements/text.ts'
import type { Evaluated } from '../../views/human/live/authz/evaluation.ts'
import { printJson } from '../../views/json/json.ts'

/** `order`, `order#read,write` or `#read`. */
const resourceIn = (given: string): NonNullable<AuthzQuestion['resources']>[number] => {
  const cut = given.lastIndexOf('#')
  if (cut === -1) return { name: given }
  const scopes = given
    .slice(cut + 1)
    .split(',')
    .filter((scope) => scope !== '')
  return { ...(cut === 0 ? {} : { name: given.slice(0, cut) }), scopes }
}

const timeIn = (given: string): string => {
  const time = Date.parse(given)
  if (!Number.isNaN(time)) return new Date(time).toISOString()
  throw new CommandError(exitCodes.error, `--at "${given}" is not a time`, {
    hint: 'write it as 2026-12-24T18:00:00Z',
  })
}

/** A result is PERMIT where one of its scopes is: a test of several must not pass by one of them. */
const decidedOtherwise = ({ results }: AuthzEvaluation, expected: string): readonly string[] =>
  results.flatMap(({ resource, scopes }) =>
    scopes
      .filter(({ status }) => status !== expected)
      .map(({ name }) => `${resource.name ?? ''}${name === null ? '' : `#${name}`}`),
  )

const mostNamed = 5

const firstOf = (places: readonly string[]): string =>
  [
    places.slice(0, mostNamed).map(harmless).join(', '),
    ...(places.length > mostNamed ? [`${places.length - mostNamed} more`] : []),
  ].join(' and ')

export const evaluateAuthz = command({
  name: 'evaluate',
  description: 'decide an access and show the answer of every policy',
  help: `
The server decides as it would for a token: for every resource and scope it names the permissions about it, and every policy
with the role, group, client, user or moment that decided. Nothing is written, and no token is made.

--plan asks about the realm as the files would make it: a change of roles, groups or policies is tried before it is applied.
--expect makes the command a test: it ends with exit code 1 unless each scope that it asks about has the expected decision.

Examples:
  iamctl authz evaluate orders-api --user alice --realm acme
  iamctl authz evaluate orders-api --user alice --resource order#read --realm acme
  iamctl authz evaluate orders-api --role reader --resource order --at 2027-01-01T00:00:00Z --realm acme
  iamctl authz evaluate orders-api realms --plan --user alice --resource order#read --expect permit --realm acme`,
  arguments: [argument('<client>', 'client id of the resource server'), pathsArgument],
  flags: flags(
    {
      user: text('<user>', 'user who asks: username or id'),
      client: text('<client>', 'client that asks'),
      role: list('<role>', 'role on trial: its name, or client/role; may be repeated'),
      resource: list(
        '<resource#scopes>',
        'resource and its scopes, such as order#read,write; all if left out; may be repeated',
      ),
      at: text('<time>', 'moment to decide for', { fallback: 'now' }),
      plan: toggle('decide for the realm as the files would make it'),
      expect: choice('<decision>', 'exit code 1 unless this is the decision about each scope', [
        'permit',
        'deny',
      ]),
    },
    fileFlags,
    realmFlags,
  ),
  run: async (call, client, paths): Promise<Evaluated> => {
    const { user, client: asking, role, resource, at, plan: isPlanned } = call.flags
    const { api, realm } = await openRealm(call)
    const question: AuthzQuestion = {
      ...(user === undefined ? {} : { userId: user }),
      ...(asking === undefined ? {} : { clientId: asking }),
      ...(role.length === 0 ? {} : { roleIds: role }),
      ...(resource.length === 0 ? {} : { resources: resource.map(resourceIn) }),
      ...(at === undefined ? {} : { context: { time: timeIn(at) } }),
    }
    if (!isPlanned && paths.length > 0)
      throw new CommandError(exitCodes.error, 'files are read with --plan only', {
        hint: 'add --plan, or leave the paths out',
      })
    if (!isPlanned)
      return {
        client,
        realm,
        isPlanned,
        evaluation: await api.authz.evaluate(realm, client, question),
      }
    const { plannedChangeset } = await import('../../planning/estate/planned-changeset.ts')
    const { carriedByError } = await import('../../planning/estate/estate.ts')
    const changeset = await plannedChangeset(readingOf(call, paths, carriedByError), {
      api,
      realm,
      source: call.flags.source,
    })
    const asked = changeset === undefined ? question : { ...question, changeset }
    return { client, realm, isPlanned, evaluation: await api.authz.evaluate(realm, client, asked) }
  },
  views: {
    human: async () => (await import('../../views/human/live/authz/evaluation.ts')).showEvaluation,
    json:
      () =>
      ({ evaluation }) =>
        printJson(evaluation),
  },
  conclude: ({ evaluation }, { flags: { expect } }) => {
    const expected = expect?.toUpperCase()
    if (expected === undefined) return undefined
    const others = decidedOtherwise(evaluation, expected)
    if (evaluation.status === expected && others.length === 0) return undefined
    const decision = expected === 'PERMIT' ? 'DENY' : 'PERMIT'
    const about = others.length === 0 ? '' : ` for ${firstOf(others)}`
    throw new CommandError(
      exitCodes.error,
      `the decision is ${decision}, not ${expected}${about}`,
      {
        hint: 'the answers above name the policies that decided',
      },
    )
  },
})
