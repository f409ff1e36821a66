/** The measures for speed or memory that `--tuning-off` names; `platform/tuning` has them. */

export const tunings = ['bound-garbage', 'bound-bulk-garbage', 'bound-new-objects'] as const

export type Tuning = (typeof tunings)[number]
