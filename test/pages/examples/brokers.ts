/** Examples of the pages of sign-ins through identity providers. */

import type { FastifyReply } from 'fastify'
import type { FormPage } from '#server/http/pages/pages.ts'
import type { AllPages } from '../all-pages.ts'

type Show = (pages: AllPages, reply: FastifyReply, page: FormPage) => FastifyReply

const email = 'alice@nordwind.example'
const brands = ['google', 'microsoft', 'github', 'apple', 'facebook', 'gitlab', 'linkedin']

export const brokerExamples: Readonly<Record<string, Show>> = {
  'login-providers': (pages, reply, page) =>
    pages.login(reply, {
      ...page,
      emailAllowed: true,
      providers: [...brands, 'saml'].map((icon) => ({
        name: icon === 'saml' ? 'Nordwind & Söhne' : icon,
        icon,
        url: `/${icon}`,
      })),
      hasOrganizations: true,
    }),
  providers: (pages, reply, page) =>
    pages.providers(reply, {
      ...page,
      providers: [{ name: 'Google', icon: 'google', url: '/google' }],
      asksAddress: true,
      isOrganization: false,
      username: email,
      error: 'no-organization',
      canRestart: true,
    }),
  'providers-organization': (pages, reply, page) =>
    pages.providers(reply, {
      ...page,
      providers: [{ name: 'Nordwind SSO', icon: 'saml', url: '/staff' }],
      asksAddress: false,
      isOrganization: true,
      hasOthers: true,
      canRestart: true,
    }),
  'review-profile': (pages, reply, page) =>
    pages.reviewProfile(reply, {
      ...page,
      provider: 'GitHub',
      asksUsername: true,
      values: { username: 'alice', email: '', firstName: 'Alice', lastName: 'Sørensen' },
      errors: { email: [{ id: 'required' }] },
    }),
  'new-account': (pages, reply, page) =>
    pages.newAccount(reply, {
      ...page,
      provider: 'Google',
      email,
      isClaimed: false,
      yields: false,
    }),
  'new-account-claimed': (pages, reply, page) =>
    pages.newAccount(reply, {
      ...page,
      provider: 'Google',
      email,
      isClaimed: true,
      yields: true,
      canRestart: true,
    }),
  'account-found': (pages, reply, page) =>
    pages.accountFound(reply, { ...page, provider: 'Google', email, canRestart: true }),
  departure: (pages, reply, page) =>
    pages.departure(reply, { ...page, provider: 'Google', url: '/away' }),
  'error-provider-expired': (pages, reply, page) =>
    pages.error(reply, {
      ...page,
      error: 'provider-expired',
      provider: 'Nordwind & Söhne',
      requestId: 'r-1',
      backUrl: '/',
    }),
  'error-provider': (pages, reply, page) =>
    pages.error(reply, {
      ...page,
      error: 'provider-unavailable',
      provider: 'Nordwind & Söhne',
      requestId: 'r-1',
      backUrl: '/',
    }),
}
