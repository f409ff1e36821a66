/** THE list of kinds. Everything that must know all kinds maps over it. */

import type { Kind } from '../kind.ts'
import { Client } from './client.ts'
import { ClientMapper } from './client-mapper.ts'
import { ClientRole } from './client-role.ts'
import { ClientScope } from './client-scope.ts'
import { Flow } from './flow.ts'
import { Group } from './group.ts'
import { MessageTemplate } from './message-template.ts'
import { Role } from './role.ts'
import { Settings } from './settings.ts'
import { User } from './user.ts'
import { Webhook } from './webhook.ts'

export const kinds: readonly Kind[] = [
  Settings,
  Role,
  Group,
  ClientScope,
  Client,
  ClientRole,
  ClientMapper,
  Flow,
  MessageTemplate,
  Webhook,
  User,
]

const byName = new Map(kinds.map((kind) => [kind.kind, kind]))

/** The entry of a name that is known to be one, such as a stored row's. */
export const kindNamed = (name: string): Kind => {
  const kind = byName.get(name)
  if (!kind) throw new RangeError(`there is no kind "${name}"`)
  return kind
}

/** The kinds whose documents live below a document of this one. */
export const childrenOf = (kind: Kind): readonly Kind[] =>
  kinds.filter((other) => other.parentKind === kind.kind)
