/** Contexts: servers and realms by name. Those of `iamctl.yaml` are the estate's, the others this machine's. */

import { own } from '#schemas/own.ts'
import { nearest } from '#schemas/text/typos.ts'
import { serverAddress } from '../../client/address.ts'
import { type EstateContexts, readEstateContexts } from '../../context/estate.ts'
import { type Context, contextOf, openStore } from '../../context/store.ts'
import { targetOf } from '../../context/target.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { printJson } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'

const estateOf = (invocation: Invocation): Promise<EstateContexts> =>
  readEstateContexts(process.cwd(), textOf(invocation, 'config', 'IAMCTL_CONFIG'))

export const listContexts = async (invocation: Invocation): Promise<void> => {
  const memory = openStore(invocation.env).read()
  const estate = await estateOf(invocation)
  const { context: used } = targetOf({ ...invocation, flags: {}, estate, memory })
  const rows = [
    ...Object.entries(estate.contexts).map(([name, context]) => ({
      name,
      ...context,
      from: estate.file ?? '',
    })),
    ...Object.entries(memory.contexts)
      .filter(([name]) => own(estate.contexts, name) === undefined)
      .map(([name, context]) => ({ name, ...context, from: 'this machine' })),
  ].map((row) => ({ ...row, used: row.name === used }))
  if (invocation.output === 'json') return printJson(rows)
  if (rows.length === 0)
    return note(
      invocation,
      'there are none yet: `iamctl login` makes one, and `iamctl context set`',
    )
  return printTable(
    ['', 'name', 'server', 'realm', 'auth realm', 'username', 'from'],
    rows.map(({ used: isUsed, name, server, realm, authRealm, username, from }) => [
      isUsed ? '*' : '',
      name,
      server ?? '',
      realm ?? '',
      authRealm ?? '',
      username ?? '',
      from,
    ]),
  )
}

const missing = (name: string, known: readonly string[]): CommandError => {
  const meant = nearest(name, known)
  return new CommandError(exitCodes.error, `this machine has no context "${name}"`, {
    hint: meant === undefined ? '`iamctl context list` shows them' : `did you mean "${meant}"?`,
  })
}

export const chooseContext = async (invocation: Invocation, name: string): Promise<void> => {
  const store = openStore(invocation.env)
  const { contexts } = store.read()
  const estate = await estateOf(invocation)
  if (own(contexts, name) === undefined) {
    if (own(estate.contexts, name) === undefined) throw missing(name, Object.keys(contexts))
    throw new CommandError(exitCodes.error, `context "${name}" is one of ${estate.file}`, {
      hint: `choose it with --context ${name}, IAMCTL_CONTEXT=${name}, or defaultContext in the file`,
    })
  }
  store.change((memory) => ({ ...memory, current: name }))
  if (invocation.output === 'json') return printJson({ context: name })
  note(invocation, `context "${name}" is in use`)
  if (estate.defaultContext)
    note(invocation, `in this folder ${estate.file} wins, with "${estate.defaultContext}"`)
}

export const setContext = (invocation: Invocation, name: string): void => {
  const given = contextOf(invocation.flags)
  const context: Context =
    given.server === undefined ? given : { ...given, server: serverAddress(given.server) }
  if (Object.keys(context).length === 0)
    throw new CommandError(exitCodes.error, 'no field of the context is given', {
      hint: 'give --server, --realm, --auth-realm or --username',
    })
  const store = openStore(invocation.env)
  store.change((memory) => ({
    ...memory,
    current: memory.current ?? name,
    contexts: { ...memory.contexts, [name]: { ...own(memory.contexts, name), ...context } },
  }))
  if (invocation.output === 'json')
    printJson({ context: name, ...own(store.read().contexts, name) })
  else note(invocation, `context "${name}" is kept`)
}

export const deleteContext = (invocation: Invocation, name: string): void => {
  const store = openStore(invocation.env)
  const { contexts } = store.read()
  if (own(contexts, name) === undefined) throw missing(name, Object.keys(contexts))
  store.change((memory) => ({
    ...memory,
    current: memory.current === name ? null : memory.current,
    contexts: Object.fromEntries(
      Object.entries(memory.contexts).filter(([other]) => other !== name),
    ),
  }))
  if (invocation.output === 'json') printJson({ context: name, deleted: true })
  else
    note(
      invocation,
      `context "${name}" is forgotten; its session is not: \`iamctl logout\` ends that`,
    )
}
