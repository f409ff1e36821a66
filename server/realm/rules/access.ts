/** Which kinds a caller may read and write, for requests that turn out to be about any of them. */

import type { Permission } from '#schemas/access/permissions.ts'
import type { Kind } from '#schemas/kind.ts'
import { Problem } from '#schemas/problems.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Caller } from '#server/http/caller.ts'

/** Reading a child needs the read permission of its parent. */
export const mayRead = (caller: Caller, kind: Kind): boolean =>
  caller.permissions.has(kind.permission.read) &&
  (kind.parentKind === null ||
    kind.parentKind === kind.kind ||
    mayRead(caller, kindNamed(kind.parentKind)))

const refuse = (permission: Permission, kind: Kind): never => {
  throw new Problem('forbidden', `${kind.kind}: this needs the permission ${permission}`)
}

export const refuseUnlessMayWrite = (caller: Caller, wanted: Iterable<Kind>): void => {
  for (const kind of wanted)
    if (!caller.permissions.has(kind.permission.write)) refuse(kind.permission.write, kind)
}
