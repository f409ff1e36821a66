/**
 * Issuers that sign JWTs for everybody, such as GitHub: a credential must name one workload among all of them, by a name that
 * no other can get, and an audience that no other service receives tokens for.
 */

export interface Caution {
  readonly code: 'mutable-subject' | 'shared-audience' | 'issuer-of-all'
  /** Pointer into the document. */
  readonly field: string
  readonly message: string
  readonly hint: string
}

/** As files have it: what has a default may be missing. */
interface Trust {
  readonly issuer?: unknown
  readonly subject?: unknown
  readonly audience?: unknown
  readonly claims?: unknown
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const github = /^https:\/\/(token\.actions\.githubusercontent\.com(\/.*)?|[^/]+\/_services\/token)$/
const gitlab = 'https://gitlab.com'
const google = 'https://accounts.google.com'
const azureCommon =
  /^https:\/\/(login\.microsoftonline\.com|sts\.windows\.net)\/(common|organizations|consumers)\b/

const pins = (claims: unknown, ...names: readonly string[]): boolean =>
  typeof claims === 'object' && claims !== null && names.some((name) => Object.hasOwn(claims, name))

const mutable = (better: string, hint: string): Caution => ({
  code: 'mutable-subject',
  field: '/subject',
  message: 'the subject is made of names, which another owner can get after a rename or deletion',
  hint: `${hint}: ${better}`,
})

/** `repo:OWNER/NAME:REST`; since July 2026 new repositories have `repo:OWNER@ID/NAME@ID:REST`. */
const githubSubject = ({ subject, claims }: Trust): Caution[] => {
  const [, owner, name, rest = ''] = /^repo:([^/@:]+)\/([^/@:]+):(.*)$/s.exec(textOf(subject)) ?? []
  if (owner === undefined || pins(claims, 'repository_id', 'repository_owner_id')) return []
  return [
    mutable(
      `repo:${owner}@OWNER_ID/${name}@REPOSITORY_ID:${rest}`,
      'add claims: { repository_id: "…" }, or use the immutable form',
    ),
  ]
}

const gitlabSubject = ({ subject, claims }: Trust): Caution[] =>
  textOf(subject).startsWith('project_path:') && !pins(claims, 'project_id', 'namespace_id')
    ? [mutable('claims: { project_id: "…", ref_protected: "true" }', 'add the id of the project')]
    : []

/** Audiences that platforms and clouds use by default: every receiver of such a token could present it here. */
const vendorAudiences: readonly RegExp[] = [
  /^https:\/\/github\.com\/[^/]+\/?$/,
  /^https:\/\/gitlab\.com\/?$/,
  /^sts\.amazonaws\.com$/,
  /^api:\/\/AzureADTokenExchange$/,
  /^https:\/\/iam\.googleapis\.com\//,
  /^\/\/iam\.googleapis\.com\//,
  /\.apps\.googleusercontent\.com$/,
  /^sigstore$/,
  /^https:\/\/kubernetes\.default\.svc(\.cluster\.local)?\/?$/,
]

const audienceCaution = ({ audience }: Trust): Caution[] =>
  vendorAudiences.some((one) => one.test(textOf(audience)))
    ? [
        {
          code: 'shared-audience',
          field: '/audience',
          message: 'other services receive tokens for this audience, and could present them here',
          hint: 'use the address of the realm, {base_url}/realms/{realm}, and let the pipeline ask for it',
        },
      ]
    : []

const issuerCaution = ({ issuer }: Trust): Caution[] =>
  azureCommon.test(textOf(issuer))
    ? [
        {
          code: 'issuer-of-all',
          field: '/issuer',
          message: 'the issuer stands for every tenant, and no token has it',
          hint: 'use the issuer of the tenant: https://login.microsoftonline.com/TENANT_ID/v2.0',
        },
      ]
    : []

/** An address names a person or service until it is given to another; the number stays. */
const googleSubject = ({ subject }: Trust): Caution[] =>
  textOf(subject).includes('@')
    ? [mutable('the numeric unique id', 'use the id of the service account')]
    : []

const subjectCaution = (trust: Trust): Caution[] => {
  const issuer = textOf(trust.issuer)
  if (github.test(issuer)) return githubSubject(trust)
  if (issuer === gitlab) return gitlabSubject(trust)
  return issuer === google ? googleSubject(trust) : []
}

export const trustCautions = (trust: Trust): readonly Caution[] => [
  ...issuerCaution(trust),
  ...subjectCaution(trust),
  ...audienceCaution(trust),
]
