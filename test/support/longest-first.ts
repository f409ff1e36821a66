/**
 * The order of the test files: those that take longest begin, so that no worker is left alone with one in the end. A
 * clean clone has no times to go by, and what takes long is often a short file.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Of each project, the longest first. */
const longest = [
  'process/webhook-crash',
  'process/apply-crash',
  'process/crash',
  'process/rotate-master-key',
  'process/dev/dev-end',
  'process/server-command',
  'process/server-backup',
  'process/server-stop',
  'process/dev/dev',
  'cli/commands/adopt',
  'process/server-bootstrap',
  'process/two-nodes',
  'process/monitoring',
  'cli/commands/completion',
  'cli/commands/loop',
  'cli/commands/pipeline',
  'engine/property',
  'pages/browser',
  'security/names',
  'security/guard',
  'login/flows',
  'login/limits',
  'security/bodies',
  'engine/budget',
  'openapi/interactive-docs-browser',
  'conformance/kinds',
].map((name) => `/test/${name}.test.ts`)

const rankOf = ({ moduleId }: TestSpecification): number => {
  const found = longest.findIndex((name) => moduleId.endsWith(name))
  return found === -1 ? longest.length : found
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files)
    const byProject = Map.groupBy(usual, ({ project }) => project)
    return [...byProject.values()].flatMap((own) => own.toSorted((a, b) => rankOf(a) - rankOf(b)))
  }
}
