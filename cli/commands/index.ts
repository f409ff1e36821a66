/**
 * THE list of commands, one line each, in the order of the help. To add one: `cli/commands/<name>.ts` exports a function
 * that adds its name, flags, help and examples to the program, and loads what it does (`run/<name>.ts`) with a dynamic
 * import when it is run; its line goes here.
 */

import type { Command } from 'commander'
import { addAdopt } from './adopt.ts'
import { addApply } from './apply.ts'
import { addClients } from './clients.ts'
import { addCompletion } from './completion.ts'
import { addContext } from './context.ts'
import { addDelete } from './delete.ts'
import { addDev } from './dev.ts'
import { addDoctor } from './doctor.ts'
import { addEvents } from './events.ts'
import { addExplain, addSchema } from './explain.ts'
import { addFmt } from './fmt.ts'
import { addGet } from './get.ts'
import { addHistory, addRollback } from './history.ts'
import { addInit } from './init.ts'
import { addInvitations } from './invitations.ts'
import { addKeys } from './keys.ts'
import { addLogin, addLogout, addWhoami } from './login.ts'
import { addDrift, addPlan } from './plan.ts'
import { addReconcile } from './reconcile.ts'
import { addServerCommands } from './server-options.ts'
import { addSessions } from './sessions.ts'
import { addExport, addImport } from './transfer.ts'
import { addUsers } from './users.ts'
import { addValidate } from './validate.ts'
import { addWebhooks } from './webhooks.ts'

export interface CommandGroup {
  readonly heading: string
  readonly commands: readonly ((program: Command) => void)[]
}

export const commandGroups: readonly CommandGroup[] = [
  {
    heading: 'Realm files:',
    commands: [
      addInit,
      addDev,
      addFmt,
      addValidate,
      addPlan,
      addApply,
      addDrift,
      addAdopt,
      addReconcile,
      addExplain,
      addSchema,
    ],
  },
  {
    heading: 'Whole realms:',
    commands: [addHistory, addRollback, addExport, addImport],
  },
  {
    heading: 'Live realm:',
    commands: [
      addGet,
      addDelete,
      addClients,
      addUsers,
      addInvitations,
      addSessions,
      addEvents,
      addKeys,
      addWebhooks,
    ],
  },
  {
    heading: 'Sign-in and contexts:',
    commands: [addLogin, addLogout, addWhoami, addContext, addDoctor, addCompletion],
  },
  {
    heading: 'Server:',
    commands: [addServerCommands],
  },
]
