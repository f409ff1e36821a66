/** The API page in a real browser, on a server that listens. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { openBrowser } from '../support/processes/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { operationsIn, readDocument } from './document.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const [backend] = backends
const html = '/interactive-docs.html'

describe('the interactive page', () => {
  let server: TestServer
  let browser: Browser
  let base: string

  beforeAll(async () => {
    if (!backend) throw new Error('no backend')
    server = await startServer(backend)
    base = await server.app.listen({ host: '127.0.0.1', port: 0 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** Opens the page and collects what it should never have: errors, refusals by its policy, other hosts. */
  const open = async (
    options: BrowserContextOptions = {},
    place = '',
  ): Promise<{ page: Page; faults: string[] }> => {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      // A reply that is no success is told in the console too.
      if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
        faults.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(`${base}/`)) faults.push(request.url())
    })
    await page.goto(`${base}${html}${place}`)
    await page.getByText(/^\d+ operations$/).waitFor()
    return { page, faults }
  }

  const signIn = async (page: Page): Promise<void> => {
    const [name = '', value = ''] = server.admin.cookie.split('=')
    await page.context().addCookies([{ name, value, url: base, httpOnly: true }])
  }

  it('lists and finds every documented operation, with method, path and permission', async () => {
    const operations = await operationsIn(await readDocument(server))
    const { page, faults } = await open()
    const shown = await page.locator('.operation > summary').allTextContents()
    expect(shown.length).toBe(operations.length)
    for (const { method, path } of operations)
      expect(shown.some((text) => text.startsWith(`${method}${path}`))).toBe(true)
    expect(faults).toEqual([])

    // And finds them by words of their path, summary or permission.
    await page.getByLabel('Find', { exact: true }).fill('delete webhooks')
    await page.getByText(/^1 of \d+ operations$/).waitFor()
    const left = await page.locator('.operation:visible > summary').allTextContents()
    expect(left).toHaveLength(1)
    expect(left[0]).toContain('DELETE/admin/realms/{realm}/webhooks/{id}')
    await page.context().close()
  })

  it('shows what an operation takes and answers, field by field', async () => {
    const { page, faults } = await open({}, '#create-client')
    const operation = page.locator('#create-client')
    await operation.getByText('Records ADMIN_CREATE.').waitFor()
    const body = operation.locator('.content').first()
    expect(await body.textContent()).toContain('client-create')
    const field = body.locator('li', { has: page.locator('code', { hasText: /^redirectUris$/ }) })
    expect(await field.first().textContent()).toContain('array of string')
    await operation.getByText('Sign in first').click()
    // It is made when the browser tells that it was opened, which is after the click.
    const reply = operation.locator('.reply[open]', { hasText: 'application/problem+json' })
    await reply.waitFor()
    expect(faults).toEqual([])
    await page.context().close()
  })

  it('sends a read as the session of the browser, and says when there is none', async () => {
    const { page, faults } = await open({}, '#list-role')
    const operation = page.locator('#list-role')
    const send = operation.getByRole('button', { name: 'Send' })
    await send.click()
    expect(await operation.locator('.answer strong').textContent()).toContain('401')
    expect(await operation.locator('.hint').textContent()).toContain('This browser has no session')
    await signIn(page)
    await operation.getByLabel('max (query)').fill('1')
    await send.click()
    await operation.locator('.answer strong.good').waitFor()
    const answer = JSON.parse((await operation.locator('pre.body').textContent()) ?? '')
    expect(answer).toHaveLength(1)
    expect(answer[0]).toMatchObject({ realmId: 'master' })
    expect(faults).toEqual([])
    await page.context().close()
  })

  it('sends what was typed as one segment of the path', async () => {
    const { page } = await open({}, '#read-role')
    await signIn(page)
    const operation = page.locator('#read-role')
    await operation.getByLabel('id (path)').fill('../users?x=1#y')
    const request = page.waitForRequest(/roles/)
    await operation.getByRole('button', { name: 'Send' }).click()
    expect(new URL((await request).url()).pathname).toBe(
      '/admin/realms/master/roles/..%2Fusers%3Fx%3D1%23y',
    )
    await page.context().close()
  })

  it('offers to send nothing but reads', async () => {
    const { page } = await open()
    for (const id of ['create-role', 'remove-role', 'replace-role']) {
      await page.locator(`#${id} > summary`).click()
      await page.locator(`#${id} .reply`).first().waitFor()
    }
    expect(await page.getByRole('button').count()).toBe(0)
    await page.context().close()
  })

  it('never takes text for markup: hostile values stay text', async () => {
    const name = '<img src=x onerror=alert(1)>'
    await server.admin.send('POST', '/admin/realms/master/roles', {
      name: 'odd',
      description: name,
    })
    const { page, faults } = await open({}, '#list-role')
    await signIn(page)
    const operation = page.locator('#list-role')
    await operation.getByRole('button', { name: 'Send' }).click()
    await operation.locator('.answer strong.good').waitFor()
    expect(await operation.locator('pre.body').textContent()).toContain(name)
    expect(await page.locator('img').count()).toBe(0)
    expect(faults).toEqual([])
    await page.context().close()
  })

  it('has nothing that axe objects to, light and dark', async () => {
    const { page } = await open({ bypassCSP: true }, '#list-role')
    await page.locator('#create-role > summary').click()
    // Few of many alike: axe takes its time with each.
    await page.getByLabel('Find', { exact: true }).fill('role create')
    await page.addScriptTag({ content: axe })
    const judge = async (colorScheme: 'light' | 'dark', options: object): Promise<string[]> => {
      await page.emulateMedia({ colorScheme })
      const run = `axe.run(document, ${JSON.stringify(options)})`
      const { violations } = await page.evaluate<AxeResults>(run)
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
    }
    expect(await judge('light', {})).toEqual([])
    // Nothing but the colours differs.
    expect(await judge('dark', { runOnly: ['color-contrast'] })).toEqual([])
    await page.context().close()
  })

  it('is served with a policy that allows this server only, and loads nothing inline', async () => {
    const { headers, body } = await server.anonymous.send('GET', html)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toMatch(/unsafe|http|\*|data:/)
    expect(headers['set-cookie']).toBeUndefined()
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=|https?:/)
    const missing = await server.anonymous.send('GET', '/interactive-docs/..%2Fpage.html')
    expect(missing.status).toBe(404)
  })
})
