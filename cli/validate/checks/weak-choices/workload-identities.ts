/** Trust in the tokens of another issuer that reaches too far; `plan` and `doctor` tell the same. */

import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import type { WeakChoice } from './weak-choice.ts'

export const trustChoices: readonly WeakChoice[] = Object.entries({
  'mutable-subject': 'a workload is trusted by a name that another owner can get',
  'shared-audience': 'a workload is trusted by an audience that other services receive tokens for',
  'issuer-of-all': 'the issuer of a workload stands for every tenant',
}).map(([code, meaning]) => ({
  kind: WorkloadIdentity,
  code,
  meaning,
  find: ({ doc }) => WorkloadIdentity.cautions?.(doc).filter((one) => one.code === code) ?? [],
}))
