/** The view that fits a person: a dashboard on a terminal, lines elsewhere. */

import type { OpenDevView } from '../../../dev/happenings.ts'
import { hasScreen } from './screen.ts'

/** Who asks for no colours, or is a pipeline, wants lines that stay where they are. */
const wantsLines: (reader: Parameters<OpenDevView>[1]) => boolean = ({ env, color }) =>
  !color || [env['NO_COLOR'], env['CI']].some((value) => value)

export const openHumanView: OpenDevView = async (controls, reader) =>
  hasScreen() && !wantsLines(reader)
    ? (await import('./dashboard.tsx')).openDashboard(controls)
    : (await import('./plain.ts')).openPlainView()
