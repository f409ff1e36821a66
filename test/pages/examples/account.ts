/** Examples of the pages of an account, but for those about agents. */

import type { FastifyReply } from 'fastify'
import type { FormPage } from '#server/http/pages/pages.ts'
import type { AllPages } from '../all-pages.ts'

type Show = (pages: AllPages, reply: FastifyReply, page: FormPage) => FastifyReply

const time = 1_700_000_000_000
const names = { email: 'alice@nordwind.example', firstName: 'Alice', lastName: 'Sørensen' }
const mine = {
  username: 'alice',
  name: 'Alice Sørensen',
  signOutUrl: '/form',
  sections: (
    [
      'profile',
      'password',
      'factors',
      'sessions',
      'identities',
      'applications',
      'sharing',
      'agents',
      'data',
    ] as const
  ).map((id) => ({ id, url: `/account/${id}` })),
}
const share = {
  resourceId: '1',
  resource: 'Holiday pictures',
  application: 'Fotos',
  scope: 'view',
  granted: false,
  createdAt: 0,
}

export const accountExamples: Readonly<Record<string, Show>> = {
  'account-profile': (pages, reply, page) =>
    pages.accountProfile(reply, {
      ...page,
      ...mine,
      notice: 'saved',
      values: names,
      emailVerified: true,
    }),
  'account-password': (pages, reply, page) =>
    pages.accountPassword(reply, {
      ...page,
      ...mine,
      minLength: 12,
      hasPassword: true,
      errors: { currentPassword: [{ id: 'wrong-password' }] },
    }),
  'account-factors': (pages, reply, page) =>
    pages.accountFactors(reply, {
      ...page,
      ...mine,
      factors: [
        { id: '1', kind: 'totp', label: 'Pixel 9', createdAt: time, lastUsedAt: time },
        { id: '2', kind: 'recovery-codes', createdAt: time, left: 9 },
      ],
      addable: ['passkey', 'webauthn', 'push'],
    }),
  'account-sessions': (pages, reply, page) =>
    pages.accountSessions(reply, {
      ...page,
      ...mine,
      list: [
        {
          id: '1',
          browser: 'Firefox, Linux',
          ipAddress: '203.0.113.9',
          startedAt: time,
          lastUsedAt: time,
          current: true,
        },
        {
          id: '2',
          browser: 'Safari, iPhone',
          impersonator: 'admin',
          ipAddress: '2001:db8::7334',
          startedAt: time,
          lastUsedAt: time,
          applications: ['Fahrplan & Karten', 'Wiki'],
        },
      ],
    }),
  'account-identities': (pages, reply, page) =>
    pages.accountIdentities(reply, {
      ...page,
      ...mine,
      identities: [
        { id: 'google', provider: 'Google', linkedAs: 'alice.s@mail.example' },
        { id: 'github', provider: 'GitHub' },
      ],
    }),
  'account-applications': (pages, reply, page) =>
    pages.accountApplications(reply, {
      ...page,
      ...mine,
      applications: [
        {
          name: 'maps',
          displayName: 'Fahrplan & Karten',
          iconUrl: null,
          url: 'https://maps.example/',
        },
        { name: 'wiki', displayName: 'Wiki <Ümlaut>', iconUrl: null, url: null },
      ],
      consents: [
        {
          clientId: 'maps',
          application: 'Fahrplan & Karten',
          scopes: ['Your name and profile', 'Access while you are away'],
          grantedAt: time,
        },
      ],
    }),
  'account-sharing': (pages, reply, page) =>
    pages.accountSharing(reply, {
      ...page,
      ...mine,
      resources: [
        { id: '1', name: 'Holiday pictures', application: 'Fotos', scopes: ['view', 'print'] },
        { id: '2', name: 'Diary', application: 'Fotos', scopes: [] },
      ],
      requests: [{ ...share, id: '3', username: 'bob', scope: 'print' }],
      shares: [{ ...share, id: '4', username: 'carol', granted: true }],
      policies: [
        {
          id: '6',
          name: 'Family',
          resourceId: '1',
          resource: 'Holiday pictures',
          application: 'Fotos',
          scopes: ['view', 'print'],
        },
      ],
      received: [{ ...share, id: '5', username: 'dave', resource: 'Garden' }],
      tried: { resourceId: '1', username: 'nora' },
    }),
  'account-empty': (pages, reply, page) =>
    pages.accountApplications(reply, { ...page, ...mine, applications: [], consents: [] }),
  'account-data': (pages, reply, page) =>
    pages.accountData(reply, { ...page, ...mine, exportUrl: '/export', deleteUrl: '/delete' }),
  'account-delete': (pages, reply, page) =>
    pages.accountDelete(reply, {
      ...page,
      ...mine,
      hasPassword: true,
      cancelUrl: '/account/data',
      errors: { username: [{ id: 'mismatch' }] },
    }),
}
