/**
 * Secrets that the server generates for new documents because the files give none. A server that keeps hashes can never show
 * them again, so the plan says so before the apply.
 */

import { kindNamed } from '#schemas/registry.ts'
import { madeSecrets } from '#schemas/rules/made-secrets.ts'
import { shellWord } from '../../shell-word.ts'
import { nameOf } from '../names.ts'
import type { Change, Plan, PlanWarning, RealmPlan } from '../plan.ts'

const code = 'secret-not-kept'

/** What gives a document another one, which is shown. */
const commands: Readonly<Record<string, (key: string) => string>> = {
  client: (key) => `clients secret ${shellWord(key)} --rotate`,
  webhook: (key) => `webhooks secret ${shellWord(key)}`,
}

/** Pointers of the secrets that a change creates without giving them. */
export const generatedSecrets = ({ action, kind, doc, secrets }: Change): readonly string[] =>
  action !== 'create' || doc === null
    ? []
    : madeSecrets(kindNamed(kind), doc).filter(
        (pointer) => !secrets.some((secret) => secret.pointer === pointer),
      )

export const unkeptWarnings = ({ realm, changes }: RealmPlan): PlanWarning[] => {
  const documents = changes
    .filter((change) => generatedSecrets(change).length > 0)
    .map(({ kind, key }) => ({ kind, key }))
  const [first] = documents
  if (!first) return []
  const names = documents.map(({ kind, key }) => nameOf(kind, key)).join(', ')
  const command = commands[first.kind] ?? commands['client']
  const message = `the server generates a secret for ${names} and does not show it: give \`secret\` in the files, apply with --secrets-out FILE, or run \`iamctl ${command?.(first.key)} --realm ${realm}\` afterwards`
  return [{ code, message, documents }]
}

/** For an apply that keeps them in a file. */
export const withoutUnkept = (plan: Plan): Plan => ({
  ...plan,
  realms: plan.realms.map((realm) => ({
    ...realm,
    warnings: realm.warnings.filter((warning) => warning.code !== code),
  })),
})
