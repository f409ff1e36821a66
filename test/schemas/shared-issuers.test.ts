/** What `validate`, `plan` and `doctor` say of the trust in issuers that sign for everybody. */

import { describe, expect, it } from 'vitest'
import { trustCautions } from '#schemas/access/shared-issuers.ts'

const github = 'https://token.actions.githubusercontent.com'
const audience = 'https://id.acme.example/realms/acme'

const codes = (trust: object): string[] =>
  trustCautions({ audience, ...trust }).map(({ code }) => code)

describe('the trust in an issuer that many share', () => {
  it.each([
    [{ issuer: github, subject: 'repo:acme/shop:ref:refs/heads/main' }, ['mutable-subject']],
    [{ issuer: github, subject: 'repo:acme@65/shop@74:ref:refs/heads/main' }, []],
    [{ issuer: github, subject: 'repo:acme/shop:x', claims: { repository_id: '74' } }, []],
    [{ issuer: github, subject: 'repo:acme/shop:x', claims: { ref: 'x' } }, ['mutable-subject']],
    [
      { issuer: 'https://ghe.acme.example/_services/token', subject: 'repo:a/b:x' },
      ['mutable-subject'],
    ],
    [{ issuer: 'https://gitlab.com', subject: 'project_path:g/p:ref:main' }, ['mutable-subject']],
    [
      {
        issuer: 'https://gitlab.com',
        subject: 'project_path:g/p:ref',
        claims: { project_id: '1' },
      },
      [],
    ],
    [{ issuer: 'https://gitlab.acme.example', subject: 'project_path:g/p:ref:main' }, []],
    [
      { issuer: 'https://accounts.google.com', subject: 'x@p.iam.gserviceaccount.com' },
      ['mutable-subject'],
    ],
    [{ issuer: 'https://accounts.google.com', subject: '1234' }, []],
    [{ issuer: 'https://login.microsoftonline.com/common/v2.0', subject: 'x' }, ['issuer-of-all']],
    [
      { issuer: 'https://ci.example', subject: 'x', audience: 'sts.amazonaws.com' },
      ['shared-audience'],
    ],
    [
      { issuer: 'https://ci.example', subject: 'x', audience: 'api://AzureADTokenExchange' },
      ['shared-audience'],
    ],
    [
      { issuer: github, subject: 'repo:a@1/b@2:x', audience: 'https://github.com/acme' },
      ['shared-audience'],
    ],
    [{ issuer: 'https://ci.example', subject: 'x' }, []],
  ])('%j: %j', (trust, expected) => {
    expect(codes(trust)).toEqual(expected)
  })

  it('prints the immutable form of the subject', () => {
    const [caution] = trustCautions({
      issuer: github,
      subject: 'repo:acme/shop:environment:production',
      audience,
    })
    expect(caution?.hint).toContain('repo:acme@OWNER_ID/shop@REPOSITORY_ID:environment:production')
  })
})
