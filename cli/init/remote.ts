/** The repository at its host, as the remote `origin` names it: pipelines are trusted by its path. */

import { runGit } from '../git.ts'

export interface Remote {
  readonly host: string
  /** `owner/name`, or a longer path at GitLab. */
  readonly path: string
}

/** `git@host:owner/name.git`, and addresses with a scheme. */
const parseRemote = (text: string): Remote | null => {
  const plain = text.trim().replace(/\/?(?:\.git\/?)?$/, '')
  const [, host, path] =
    /^(?:(?:https|ssh|git):\/\/)?(?:[^@/\s]+@)?([A-Za-z0-9.-]+)(?::\d+\/|[:/])([\w.-]+(?:\/[\w.-]+)+)$/.exec(
      plain,
    ) ?? []
  return host === undefined || path === undefined ? null : { host, path }
}

const timeoutMs = 5000

/** Null where there is no repository, no such remote, or none that can be read. */
export const remoteOf = async (
  repository: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Remote | null> => {
  if (repository === null) return null
  const { failed, stdout } = await runGit(
    repository,
    env,
    timeoutMs,
    'config',
    '--get',
    'remote.origin.url',
  )
  return failed ? null : parseRemote(stdout)
}
