/** Examples of the pages about agents: the consent to one, and those of an account. */

import type { FastifyReply } from 'fastify'
import type { FormPage } from '#server/http/pages/pages.ts'
import type { AllPages } from '../all-pages.ts'

type Show = (pages: AllPages, reply: FastifyReply, page: FormPage) => FastifyReply

const time = 1_700_000_000_000
const asked = { application: 'Fahrplan & Karten', username: 'alice' }
const words = { identity: true, administers: false, scopes: ['Your name and profile'] }
const mine = {
  username: 'alice',
  signOutUrl: '/form',
  sections: (['profile', 'applications', 'agents', 'data'] as const).map((id) => ({
    id,
    url: `/account/${id}`,
  })),
}

export const agentExamples: Readonly<Record<string, Show>> = {
  'consent-agent': (pages, reply, page) =>
    pages.consent(reply, {
      ...page,
      ...asked,
      ...words,
      host: 'fahrplan.example',
      agent: {
        name: 'Reise & Karten-Assistent',
        description: 'Bucht Fahrten, um die Sie ihn bitten.',
        until: time,
      },
    }),
  'consent-agent-risky': (pages, reply, page) =>
    pages.consent(reply, {
      ...page,
      ...asked,
      ...words,
      risky: ['Payments in your name'],
      host: 'fahrplan.example',
      agent: { name: 'Reise & Karten-Assistent' },
    }),
  'agent-confirm': (pages, reply, page) =>
    pages.agentConfirm(reply, {
      ...page,
      username: 'alice',
      agent: {
        name: 'Reise & Karten-Assistent',
        description: 'Bucht Fahrten, um die Sie ihn bitten.',
        until: time,
      },
      risky: ['Payments in your name', 'Changes of your address'],
      targets: ['https://payments.fahrplan.example/a/long/path/of/the/service'],
    }),
  'agent-confirmed': (pages, reply, page) =>
    pages.agentConfirmed(reply, { ...page, agent: 'Reise-Assistent', notice: 'allowed' }),
  'agent-confirmed-gone': (pages, reply, page) =>
    pages.agentConfirmed(reply, { ...page, agent: 'Reise-Assistent', notice: 'gone' }),
  'account-agents': (pages, reply, page) =>
    pages.accountAgents(reply, {
      ...page,
      ...mine,
      acting: [
        {
          id: 'a1',
          name: 'Reise & Karten-Assistent',
          description: 'Bucht Fahrten, um die Sie ihn bitten.',
          status: 'SUSPENDED',
          scopes: words.scopes,
          since: time,
          lastUsedAt: time,
        },
      ],
      waiting: [
        {
          agentId: 'a3',
          name: 'Zahlungs-Assistent',
          scopes: words.scopes,
          targets: ['https://payments.fahrplan.example'],
          expiresAt: time,
          decideAt: 'https://id.fahrplan.example/realms/acme/agent/delegation/confirm/1',
        },
      ],
      owned: [
        {
          id: 'a2',
          name: 'Rechnungs-Assistent',
          description: null,
          status: 'SUSPENDED',
          lastUsedAt: null,
          dueAt: time,
          overdue: true,
        },
      ],
    }),
}
