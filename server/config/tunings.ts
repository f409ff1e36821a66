/** The measures for speed or memory that `--tuning-off` names; `platform/tuning` has them. */

export const tunings = [
  'fast-code',
  'tick-layout',
  'object-shapes',
  'bound-garbage',
  'bound-new-objects',
  'bound-threads',
  'give-back-memory',
  'merge',
  'sole-writer',
] as const

export type Tuning = (typeof tunings)[number]
