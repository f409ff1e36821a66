/** Plan and apply on the terminal: diagnostics with their lines, the plan, and its outcome. */

import type { ApplyView } from '../../../apply/apply-estate.ts'
import type { FilesView } from '../../../planning/estate/estate.ts'
import type { PlanView } from '../../../planning/estate/plan-estate.ts'
import { hasScreen } from '../dev/screen.ts'
import { showDiagnostics } from './diagnostics.ts'
import { showApplied, showPlan, showSaved } from './show-plan.ts'

export const filesView: FilesView = {
  problems: (source) => {
    showDiagnostics(source, 'stderr')
    return true
  },
  warnings: (source) => showDiagnostics(source, 'stderr'),
}

export const applyView: ApplyView = {
  ...filesView,
  plan: showPlan,
  unchanged: () => undefined,
  results: showApplied,
}

export const planView = (): PlanView => ({
  ...filesView,
  plan: showPlan,
  saved: showSaved,
  browse: hasScreen() ? async () => (await import('../browse/browser.tsx')).browsePlan : null,
})
