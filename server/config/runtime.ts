/** Section `runtime`: the process, its folder and its log. */

import Type from 'typebox'
import { defineSection } from './section.ts'
import { tunings } from './tunings.ts'

export const runtime = defineSection({
  doc: 'The process itself.',
  options: {
    data: Type.String({
      default: './data',
      minLength: 1,
      description: 'Folder for the embedded database and the master key made for it.',
    }),
    workers: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 256,
      description: 'Processes that share the port; more than one needs PostgreSQL.',
    }),
    logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      description: 'Least severe messages to log.',
    }),
    logMessages: Type.Boolean({
      default: false,
      description:
        'Write messages to users, with their codes and links, to the log where no provider is enabled: for local work.',
    }),
    tuningOff: Type.Array(Type.Enum([...tunings]), {
      default: [],
      uniqueItems: true,
      description:
        'Measures for speed or memory to go without, by name: to look for the cause of a fault.',
    }),
    exitWithParent: Type.Boolean({
      default: false,
      description: 'Stop when standard input ends, as it does when the parent process ends.',
    }),
  },
})
