/**
 * The order of the test files: those that take longest begin, so that no worker is left alone with one in the end. A
 * clean clone has no times to go by, and what takes long is often a short file.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Of each project, the longest first. */
const longest = [
  'cli/planning/linear',
  'realm/linear',
  'security/permissions/every-write',
  'engine/property',
  'messaging/limits',
  'security/requests/names',
  'oidc/token/grants/password-flow',
  'sign-in/flows/one-user-random',
  'security/admin-api/guard',
  'signals/polling',
  'scim-out/matching',
  'audit/long-reads',
  'security/outgoing/ssrf',
  'sign-in/flows/built-in-flows',
  'monitoring/storage-away',
  'conformance/kinds',
  'security/permissions/messages-and-administrators',
  'engine/budget',
  'process/guides',
  'process/server/rotate-master-key',
  'process/server/server-backup',
  'process/crashes/webhook-crash',
  'process/burst-memory',
  'process/pipelines/generated-pipeline',
  'process/pipelines/pipeline',
  'cli/commands/sign-in/login',
  'cli/commands/init/init',
  'cli/commands/plan/two-estates',
  'cli/commands/plan/own-files',
  'cli/commands/plan/named-files',
  'cli/commands/operations',
  'cli/commands/adopt',
  'cli/commands/secrets/bound-credentials',
  'cli/commands/plan/counting',
  'cli/commands/broken-servers',
  'cli/commands/documents',
  'cli/commands/secrets/unknown-secrets',
  'cli/commands/validate/validate',
  'cli/commands/inherited-names',
  'process/dev/dev-end',
  'process/server/server-command',
  'process/crashes/apply-crash',
  'process/dev/dev',
  'process/crashes/crash',
  'process/server/server-stop',
  'process/two-nodes',
  'process/server/server-bootstrap',
  'process/monitoring',
  'pages/browser',
  'openapi/interactive-docs-browser',
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
