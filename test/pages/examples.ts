/** One filled-in example of every page, or several where it can look quite different; with a server that shows them. */
import type { FastifyReply } from 'fastify'
import type { FormPage, Impersonation } from '#server/http/pages/pages.ts'
import type { AllPages } from './all-pages.ts'
import { accountExamples } from './examples/account.ts'
import { agentExamples } from './examples/agents.ts'
import { brokerExamples } from './examples/brokers.ts'

type Show = (pages: AllPages, reply: FastifyReply, page: FormPage) => FastifyReply

const time = 1_700_000_000_000
const username = 'alice@nordwind.example'
const challenge = 'Y2hhbGxlbmdlLWNoYWxsZW5nZS1jaGFsbGVuZ2UtMQ'
const requestOptions = { challenge, rpId: 'localhost', allowCredentials: [], timeout: 60_000 }
const creationOptions = {
  challenge,
  rp: { id: 'localhost', name: 'Nordwind' },
  user: { id: 'dXNlci0x', name: username, displayName: 'Alice Sørensen' },
  pubKeyCredParams: [{ alg: -7, type: 'public-key' }],
  excludeCredentials: [],
}
const step = { username, canRestart: true, hasOthers: true }
const asked = { application: 'Fahrplan & Karten', username: 'alice' }
const logo = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" rx="2" fill="#0a7"/></svg>',
).toString('base64')
const words = {
  identity: true,
  administers: true,
  scopes: ['Your name and profile', 'Access while you are away'],
}
const wish = { ...words, application: 'Fahrplan & Karten', minutes: 4 }
const logout = {
  statusUrl: '/status',
  isPending: false,
  isPartial: false,
  frames: [],
  framed: [],
  application: 'Karten',
}
const names = { email: 'alice@nordwind.example', firstName: 'Alice', lastName: 'Sørensen' }
const invited = { organization: 'Nordwind Energie', email: 'nora@nordwind.example' }
const otpauthUrl =
  'otpauth://totp/Nordwind%20Energie:alice%40nordwind.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Nordwind%20Energie'

export const impersonation: Impersonation = {
  by: 'admin',
  username: 'alice',
  action: '/form',
  csrf: 'token',
}

export const examples: Readonly<Record<string, Show>> = {
  login: (pages, reply, page) =>
    pages.login(reply, {
      ...page,
      emailAllowed: true,
      rememberMe: true,
      resetUrl: '/reset',
      registerUrl: '/register',
      notice: 'signed-out',
      application: 'Fahrplan & Karten',
      passkey: requestOptions,
      providers: [
        { name: 'Google', url: '/google' },
        { name: 'Nordwind Staff', url: '/staff' },
      ],
    }),
  'login-failed': (pages, reply, page) =>
    pages.login(reply, { ...page, error: 'credentials', username: 'alice' }),
  identify: (pages, reply, page) =>
    pages.identify(reply, {
      ...page,
      emailAllowed: true,
      rememberMe: false,
      passkey: requestOptions,
      hasOthers: true,
      registerUrl: '/register',
    }),
  password: (pages, reply, page) =>
    pages.password(reply, {
      ...page,
      ...step,
      application: 'Fahrplan & Karten',
      resetUrl: '/reset',
      error: 'credentials',
    }),
  'signed-in': (pages, reply, page) =>
    pages.signedIn(reply, {
      ...page,
      username: 'alice',
      name: 'Alice Sørensen',
      accountUrl: '/account',
    }),
  'sign-out': (pages, reply, page) =>
    pages.signOut(reply, { ...page, ...asked, fields: { a: 'b' } }),
  'signed-out': (pages, reply, page) =>
    pages.signedOut(reply, { ...page, application: 'Karten', target: '/next', frames: [] }),
  logout: (pages, reply, page) =>
    pages.samlLogout(reply, {
      ...page,
      ...logout,
      isPending: true,
      entries: [{ application: 'Fahrplan & Karten', state: 'waiting', byHand: '/frame' }],
      frames: ['/framed'],
    }),
  'logout-partial': (pages, reply, page) =>
    pages.samlLogout(reply, {
      ...page,
      ...logout,
      isPartial: true,
      entries: (['done', 'background', 'failed', 'asked'] as const).map((state) => ({
        application: `Fahrplan & Karten ${state}`,
        state,
      })),
      target: '/next',
    }),
  totp: (pages, reply, page) => pages.totp(reply, { ...page, ...step, label: 'Pixel 9' }),
  'totp-failed': (pages, reply, page) =>
    pages.totp(reply, { ...page, ...step, error: 'wrong-code' }),
  'mail-code': (pages, reply, page) =>
    pages.mailCode(reply, { ...page, ...step, sentTo: 'a•••@nordwind.example', resent: true }),
  'sms-code': (pages, reply, page) =>
    pages.smsCode(reply, { ...page, ...step, sentTo: '•••• 42', error: 'expired-code' }),
  'magic-link': (pages, reply, page) =>
    pages.magicLink(reply, { ...page, ...step, sentTo: 'a•••@nordwind.example' }),
  'recovery-code': (pages, reply, page) => pages.recoveryCode(reply, { ...page, ...step }),
  webauthn: (pages, reply, page) =>
    pages.webauthn(reply, { ...page, ...step, options: requestOptions }),
  passkey: (pages, reply, page) =>
    pages.passkey(reply, {
      ...page,
      ...step,
      options: requestOptions,
      error: 'not-recognised',
    }),
  push: (pages, reply, page) =>
    pages.push(reply, { ...page, ...step, number: '47', device: 'Pixel 9', statusUrl: '/status' }),
  qr: (pages, reply, page) =>
    pages.qr(reply, {
      ...page,
      ...step,
      text: 'https://id.nordwind.example/realms/nordwind/qr/Zk3vQ8rT1xw0',
      number: '47',
      statusUrl: '/status',
    }),
  'confirm-sign-in': (pages, reply, page) =>
    pages.confirmSignIn(reply, {
      ...page,
      ...asked,
      ipAddress: '203.0.113.9',
      createdAt: time,
      asksNumber: true,
    }),
  'confirm-link': (pages, reply, page) =>
    pages.confirmLink(reply, { ...page, purpose: 'sign-in', username, fields: { token: 't' } }),
  'confirm-reset': (pages, reply, page) =>
    pages.confirmLink(reply, {
      ...page,
      purpose: 'reset-password',
      username,
      fields: { token: 't' },
    }),
  'confirm-deletion': (pages, reply, page) =>
    pages.confirmLink(reply, {
      ...page,
      purpose: 'delete-account',
      username,
      fields: { token: 't' },
    }),
  'confirm-restored-address': (pages, reply, page) =>
    pages.confirmLink(reply, {
      ...page,
      purpose: 'restore-email',
      username: 'x***@evil.example',
      email: 'maria@nordwind.example',
      fields: { token: 't' },
    }),
  'address-restored': (pages, reply, page) =>
    pages.done(reply, { ...page, what: 'email-restored', continueUrl: '/login/forgot' }),
  'choose-method': (pages, reply, page) =>
    pages.chooseMethod(reply, {
      ...page,
      ...step,
      methods: [
        { id: '1', kind: 'passkey' },
        { id: '2', kind: 'totp', label: 'Pixel 9' },
        { id: '3', kind: 'sms-code', label: '•••• 42' },
        { id: '4', kind: 'recovery-code' },
      ],
    }),
  consent: (pages, reply, page) =>
    pages.consent(reply, {
      ...page,
      ...asked,
      ...words,
      host: 'karten.nordwind.example',
      logo: `data:image/svg+xml;base64,${logo}`,
      policyUrl: 'https://karten.nordwind.example/privacy',
      termsUrl: 'https://karten.nordwind.example/terms',
    }),
  'consent-app': (pages, reply, page) => pages.consent(reply, { ...page, ...asked, ...words }),
  'consent-document': (pages, reply, page) =>
    pages.consent(reply, {
      ...page,
      ...asked,
      ...words,
      documentHost: 'client.nordwind.example',
      unproven: true,
    }),
  account: (pages, reply, page) =>
    pages.account(reply, { ...page, ...asked, name: 'Alice Sørensen' }),
  'choose-organization': (pages, reply, page) =>
    pages.chooseOrganization(reply, {
      ...page,
      ...step,
      hasOthers: false,
      optional: true,
      organizations: [
        { id: '1', name: 'Nordwind Energie' },
        { id: '2', name: 'Halvorsen & Daughters Shipping Company' },
      ],
    }),
  'invitation-sign-in': (pages, reply, page) =>
    pages.invitation(reply, { ...page, ...invited, what: 'sign-in', continueUrl: '/login' }),
  'invitation-register': (pages, reply, page) =>
    pages.invitation(reply, { ...page, ...invited, what: 'register', continueUrl: '/register' }),
  'invitation-accept': (pages, reply, page) =>
    pages.invitation(reply, { ...page, ...invited, what: 'accept', username, form: page }),
  'invitation-of-others': (pages, reply, page) =>
    pages.invitation(reply, {
      ...page,
      ...invited,
      what: 'other-account',
      username,
      continueUrl: '/login',
    }),
  'invitation-accepted': (pages, reply, page) =>
    pages.invitation(reply, { ...page, ...invited, what: 'accepted', continueUrl: '/next' }),
  terms: (pages, reply, page) =>
    pages.terms(reply, {
      ...page,
      text: 'Use the service as it is meant.\n\nBe kind to others. '.repeat(12),
      url: '/terms',
    }),
  device: (pages, reply, page) =>
    pages.device(reply, { ...page, username: 'alice', wrong: 'BCDF-GHJK' }),
  'device-confirm': (pages, reply, page) =>
    pages.deviceConfirm(reply, {
      ...page,
      ...asked,
      ...words,
      risky: ['Payments in your name'],
      userCode: 'BCDF-GHJK',
    }),
  'device-done': (pages, reply, page) => pages.deviceDone(reply, { ...page, allowed: true }),
  approvals: (pages, reply, page) =>
    pages.approvals(reply, {
      ...page,
      username: 'alice',
      notice: 'denied',
      wishes: [
        { ...wish, id: 'one', message: 'W4SCT' },
        { ...wish, id: 'two', risky: ['Payments in your name'] },
      ],
    }),
  register: (pages, reply, page) =>
    pages.register(reply, {
      ...page,
      asksUsername: true,
      termsUrl: '/terms',
      minLength: 12,
      values: { ...names, username: 'alice' },
      errors: {
        username: [{ id: 'taken' }],
        password: [{ id: 'password.minLength', values: { count: '12' } }],
        terms: [{ id: 'required' }],
      },
      loginUrl: '/login',
    }),
  'register-invited': (pages, reply, page) =>
    pages.register(reply, {
      ...page,
      asksUsername: true,
      values: { email: 'nora@nordwind.example' },
      emailGiven: true,
      loginUrl: '/login',
    }),
  'forgot-password': (pages, reply, page) =>
    pages.forgotPassword(reply, { ...page, emailAllowed: true, loginUrl: '/login' }),
  'forgot-sent': (pages, reply, page) => pages.forgotSent(reply, { ...page, loginUrl: '/login' }),
  'reset-password': (pages, reply, page) =>
    pages.resetPassword(reply, { ...page, username, minLength: 12 }),
  'update-password': (pages, reply, page) =>
    pages.updatePassword(reply, {
      ...page,
      username,
      minLength: 12,
      reason: 'expired',
      errors: { passwordConfirm: [{ id: 'mismatch' }] },
    }),
  'verify-email': (pages, reply, page) =>
    pages.verifyEmail(reply, { ...page, email: username, asksCode: true }),
  'update-profile': (pages, reply, page) =>
    pages.updateProfile(reply, { ...page, values: { firstName: 'Alice' } }),
  done: (pages, reply, page) =>
    pages.done(reply, { ...page, what: 'email-verified', continueUrl: '/next' }),
  'configure-totp': (pages, reply, page) =>
    pages.configureTotp(reply, {
      ...page,
      username,
      otpauthUrl,
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      canCancel: true,
    }),
  'register-passkey': (pages, reply, page) =>
    pages.registerPasskey(reply, { ...page, username, options: creationOptions, canCancel: true }),
  'recovery-codes': (pages, reply, page) =>
    pages.recoveryCodes(reply, {
      ...page,
      username,
      codes: Array.from({ length: 12 }, (_, index) => `k7wq-${1000 + index * 37}-mzp${index % 10}`),
    }),
  'landing-server': (pages, reply, page) =>
    pages.landing(reply, {
      ...page,
      what: 'server',
      ways: [],
      references: [
        { id: 'admin', url: '/admin' },
        { id: 'docs', url: '/docs' },
      ],
    }),
  'landing-admin': (pages, reply, page) =>
    pages.landing(reply, {
      ...page,
      what: 'admin',
      ways: [{ id: 'administrator', url: '/account' }],
      references: [{ id: 'openapi', url: '/v3/api-docs' }],
    }),
  'landing-realm': (pages, reply, page) =>
    pages.landing(reply, {
      ...page,
      what: 'realm',
      ways: [
        { id: 'account', url: '/account' },
        { id: 'login', url: '/login' },
      ],
      references: [{ id: 'discovery', url: '/.well-known/openid-configuration' }],
    }),
  ...accountExamples,
  ...agentExamples,
  ...brokerExamples,
  error: (pages, reply, page) =>
    pages.error(reply, { ...page, error: 'flow-expired', requestId: 'r-1', backUrl: '/' }),
  'error-application': (pages, reply, page) =>
    pages.error(reply, {
      ...page,
      error: 'application',
      detail: 'the redirect_uri is not one of the client',
      requestId: 'r-1',
    }),
}
