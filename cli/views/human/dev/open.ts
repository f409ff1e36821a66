/** The view that fits a person: a dashboard on a terminal, lines elsewhere. */

import type { OpenDevView } from '../../../dev/happenings.ts'
import { hasScreen } from './screen.ts'

/** Without colours, and in a pipeline, the output is plain lines instead of a dashboard. */
const wantsLines: (reader: Parameters<OpenDevView>[1]) => boolean = ({ env, color }) =>
  !color || [env['NO_COLOR'], env['CI']].some((value) => value)

export const openHumanView: OpenDevView = async (controls, reader) =>
  hasScreen() && !wantsLines(reader)
    ? (await import('./dashboard.tsx')).openDashboard(controls)
    : (await import('./plain.ts')).openPlainView()
