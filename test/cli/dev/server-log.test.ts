/** The parts of the server log that dev shows, and the names of actors in them. */
import { describe, expect, it } from 'vitest'
import { createActorNames } from '#cli/dev/actors.ts'
import { readLogLine } from '#cli/dev/server/server-log.ts'

const id = '0199a1b2-0000-7000-8000-00000000000a'

describe('a line of the log', () => {
  it('is an event where it is one of the audit', () => {
    const line = { level: 'info', kind: 'audit', type: 'LOGIN_SUCCESS', realm: 'acme', actor: id }
    expect(readLogLine(JSON.stringify(line))).toMatchObject({
      type: 'event',
      event: { type: 'LOGIN_SUCCESS', realm: 'acme', actor: id, resourceId: null },
    })
  })

  it('is a message to a user where the server has nothing to send it with', () => {
    const message = { realm: 'acme', channel: 'SMS', to: '+31612345678', subject: '', text: '123' }
    const line = { level: 'info', kind: 'message', id: 'x', ...message, msg: 'message' }
    expect(readLogLine(JSON.stringify(line))).toEqual({ type: 'message', message })
  })

  it('is trouble from a warning on, with the reason', () => {
    const line = { level: 'error', msg: 'stopping failed', err: { message: 'disk full' } }
    expect(readLogLine(JSON.stringify(line))).toEqual({
      type: 'trouble',
      level: 'error',
      message: 'stopping failed: disk full',
    })
  })

  it('is left out where it is a request, and kept as text where it is no log', () => {
    expect(readLogLine('{"level":"info","msg":"request"}')).toEqual({ type: 'other' })
    expect(readLogLine('Error: no')).toEqual({ type: 'text', text: 'Error: no' })
  })
})

describe('who acts', () => {
  const asked: string[] = []
  const names = createActorNames({
    find: async (realm, name) => {
      asked.push(`${realm}/${name}`)
      if (realm !== 'master') return null
      return { userId: id, username: 'admin', email: null, enabled: true, locked: false }
    },
  })

  it('is looked up once, in the realm and then among the administrators of all', async () => {
    expect(await Promise.all([names('acme', id), names('acme', id)])).toEqual(['admin', 'admin'])
    expect(asked).toEqual([`acme/${id}`, `master/${id}`])
  })

  it('is shown as it is where it is no id', async () => {
    expect(await names('acme', 'system')).toBe('system')
  })
})
