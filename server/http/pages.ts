/**
 * The pages that people see: eta templates from `templates/pages`, texts from its catalogues, one style sheet
 * under a name that changes with its content. They work without scripts, so the policy sent with them allows
 * none at all, but for the page that sends its form by itself; the realm's own style is the only inline part and
 * carries the nonce of this one response.
 */

import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Branding, brandStyle, logoOf } from './branding.ts'

export interface PageContext {
  /** Name of the realm; stands in for a missing display name. */
  readonly realm: string
  readonly branding?: Branding | undefined
  /** One of `Pages.locales`; English when absent or unknown. */
  readonly locale?: string | undefined
  readonly status?: number | undefined
  /**
   * Origins or schemes besides our own that the page's form may lead to. Browsers hold a redirect that
   * follows a form to `form-action` too, so an authorize flow names its client's redirect URI here.
   */
  readonly formTargets?: readonly string[] | undefined
}

/** Ids of messages; a locked user and a wrong password are the same message on purpose. */
export type LoginError = 'credentials' | 'expired' | 'too-many' | 'unavailable'

export interface LoginPage extends PageContext {
  /** Where the form posts `username`, `password`, `_csrf` and, if offered, `rememberMe` to. */
  readonly action: string
  readonly csrf: string
  readonly username?: string | undefined
  /** Whether the field also takes an email address. */
  readonly emailAllowed?: boolean | undefined
  /** The state of the box; it is offered only when this is given. */
  readonly rememberMe?: boolean | undefined
  readonly error?: LoginError | undefined
  readonly notice?: 'signed-out' | undefined
  readonly resetUrl?: string | undefined
  readonly registerUrl?: string | undefined
}

export interface SignedInPage extends PageContext {
  readonly username: string
  readonly name?: string | undefined
  /** Where the sign-out form posts `_csrf` to. */
  readonly action: string
  readonly csrf: string
}

/** Whether the user wants to sign out, where nothing proves it. */
export interface SignOutPage extends PageContext {
  /** Who asks for it, if that is known. */
  readonly application?: string | undefined
  readonly username: string
  /** Where the form posts `_csrf` and the fields to. */
  readonly action: string
  readonly csrf: string
  readonly fields: Readonly<Record<string, string>>
}

export interface SignedOutPage extends PageContext {
  readonly application?: string | undefined
  /** Where the browser goes on to. */
  readonly target?: string | undefined
  /** Pages of clients that sign the user out there; only their origins may be framed. */
  readonly frames: readonly string[]
}

/** Whether an application may have what it asks for. */
export interface ConsentPage extends PageContext {
  readonly application: string
  readonly username: string
  /** Whether it asks who the user is. */
  readonly identity: boolean
  /** What else it asks for, in words. */
  readonly scopes: readonly string[]
  /** Where the form posts `_csrf` and `decision`, which is `allow` or `deny`, to. */
  readonly action: string
  readonly csrf: string
}

/** With which account to go on. */
export interface AccountPage extends PageContext {
  readonly application: string
  readonly username: string
  readonly name?: string | undefined
  /** Where the form posts `_csrf` and `decision`, which is `continue` or `other`, to. */
  readonly action: string
  readonly csrf: string
}

/** Where the code of a device is typed. */
export interface DevicePage extends PageContext {
  readonly username: string
  /** What was typed and is no code. */
  readonly wrong?: string | undefined
  /** Where the form posts `_csrf` and `user_code` to. */
  readonly action: string
  readonly csrf: string
}

/** Whether a device may; the form posts `user_code` too. */
export interface DeviceConfirmPage extends ConsentPage {
  readonly userCode: string
}

export interface DeviceDonePage extends PageContext {
  readonly allowed: boolean
}

/** A request that waits for the user. */
export interface ApprovalWish {
  readonly id: string
  readonly application: string
  /** What the user sees where the request was made, too. */
  readonly message?: string | undefined
  readonly identity: boolean
  readonly scopes: readonly string[]
  readonly minutes: number
}

export interface ApprovalsPage extends PageContext {
  readonly username: string
  readonly wishes: readonly ApprovalWish[]
  readonly notice?: 'allowed' | 'denied' | 'gone' | undefined
  /** Where each form posts `_csrf`, `request` and `decision`, which is `allow` or `deny`, to. */
  readonly action: string
  readonly csrf: string
}

/** A form that is sent on by a script, or by a button where there are none. */
export interface FormPostPage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

export type PageError =
  | 'bad-request'
  | 'application'
  | 'expired'
  | 'forbidden'
  | 'not-found'
  | 'rate-limited'
  | 'internal'

export interface ErrorPage extends PageContext {
  readonly error: PageError
  readonly requestId: string
  /** For whoever runs the application that sent the user here. */
  readonly detail?: string | undefined
  readonly backUrl?: string | undefined
}

export interface Pages {
  readonly locales: readonly string[]
  login(reply: FastifyReply, page: LoginPage): FastifyReply
  signedIn(reply: FastifyReply, page: SignedInPage): FastifyReply
  signOut(reply: FastifyReply, page: SignOutPage): FastifyReply
  signedOut(reply: FastifyReply, page: SignedOutPage): FastifyReply
  consent(reply: FastifyReply, page: ConsentPage): FastifyReply
  account(reply: FastifyReply, page: AccountPage): FastifyReply
  device(reply: FastifyReply, page: DevicePage): FastifyReply
  deviceConfirm(reply: FastifyReply, page: DeviceConfirmPage): FastifyReply
  deviceDone(reply: FastifyReply, page: DeviceDonePage): FastifyReply
  approvals(reply: FastifyReply, page: ApprovalsPage): FastifyReply
  formPost(reply: FastifyReply, page: FormPostPage): FastifyReply
  error(reply: FastifyReply, page: ErrorPage): FastifyReply
  /** Adds the route of the style sheet and the script. */
  routes(app: FastifyInstance): void
}

type Catalogue = Readonly<Record<string, string>>

/** Right from source, from a chunk of the bundle and from any working folder. */
export const findTemplates = (): string => {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new Error('the package of the server is not complete')
  return join(dirname(manifest), 'templates', 'pages')
}

const readCatalogues = (folder: string): ReadonlyMap<string, Catalogue> =>
  new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .map((file) => {
        const texts: Catalogue = JSON.parse(readFileSync(join(folder, file), 'utf8'))
        return [file.slice(0, -'.json'.length), texts]
      }),
  )

const createTranslator =
  (texts: Catalogue, fallback: Catalogue) =>
  (key: string, values: Readonly<Record<string, string>> = {}): string => {
    const text = texts[key] ?? fallback[key]
    if (text === undefined) throw new Error(`no catalogue has the text "${key}"`)
    return text.replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole)
  }

/** A source that could end the directive or be a keyword is left out. */
const isSource = (text: string): boolean => /^[a-z][a-z0-9+.-]*:(?:\/\/[^\s;,'"]+)?$/i.test(text)

/** What a page may do that others may not. */
interface Allowed {
  readonly scripted?: boolean
  readonly frames?: readonly string[]
}

const originsOf = (urls: readonly string[]): string[] => [
  ...new Set(urls.flatMap((url) => URL.parse(url)?.origin ?? []).filter(isSource)),
]

const policy = (
  nonce: string,
  imageOrigin: string | undefined,
  formTargets: readonly string[],
  { scripted = false, frames = [] }: Allowed,
) =>
  [
    "default-src 'none'",
    ...(scripted ? ["script-src 'self'"] : []),
    ...(frames.length > 0 ? [`frame-src ${originsOf(frames).join(' ')}`] : []),
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:${imageOrigin === undefined ? '' : ` ${imageOrigin}`}`,
    `form-action ${["'self'", ...formTargets.filter(isSource)].join(' ')}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

interface Asset {
  readonly name: string
  readonly type: string
  readonly body: Buffer
}

const readAsset = (folder: string, stem: string, ending: string, type: string): Asset => {
  const body = readFileSync(join(folder, `${stem}.${ending}`))
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 16)
  return { name: `${stem}-${digest}.${ending}`, type, body }
}

export const createPages = ({ templatesDir = findTemplates() } = {}): Pages => {
  const eta = new Eta({ views: templatesDir, cache: true })
  const catalogues = readCatalogues(join(templatesDir, 'messages'))
  const english = catalogues.get('en') ?? {}
  const folder = join(templatesDir, 'assets')
  const sheet = readAsset(folder, 'pages', 'css', 'text/css; charset=utf-8')
  const script = readAsset(folder, 'submit', 'js', 'text/javascript; charset=utf-8')

  const send = (
    reply: FastifyReply,
    template: string,
    page: PageContext,
    { scripted = false, frames = [] }: Allowed = {},
  ): FastifyReply => {
    const { branding = {}, locale = 'en', formTargets = [], status = 200 } = page
    const texts = catalogues.get(locale) ?? english
    const nonce = randomBytes(16).toString('base64')
    const logo = logoOf(branding)
    const html = eta.render(template, {
      ...page,
      t: createTranslator(texts, english),
      lang: texts === english ? 'en' : locale,
      brand: branding.displayName || page.realm,
      welcome: branding.welcomeText || undefined,
      logo: logo?.href,
      style: brandStyle(branding),
      sheet: `/assets/${sheet.name}`,
      script: scripted ? `/assets/${script.name}` : undefined,
      nonce,
    })
    return reply
      .code(status)
      .header(
        'content-security-policy',
        policy(nonce, logo?.origin, formTargets, { scripted, frames }),
      )
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(html)
  }

  return {
    locales: [...catalogues.keys()].sort(),
    login: (reply, page) => send(reply, 'login', page),
    signedIn: (reply, page) => send(reply, 'signed-in', page),
    signOut: (reply, page) => send(reply, 'sign-out', page),
    signedOut: (reply, page) => send(reply, 'signed-out', page, { frames: page.frames }),
    consent: (reply, page) => send(reply, 'consent', page),
    account: (reply, page) => send(reply, 'account', page),
    device: (reply, page) => send(reply, 'device', page),
    deviceConfirm: (reply, page) => send(reply, 'device-confirm', page),
    deviceDone: (reply, page) => send(reply, 'device-done', page),
    approvals: (reply, page) => send(reply, 'approvals', page),
    formPost: (reply, page) => send(reply, 'form-post', page, { scripted: true }),
    error: (reply, page) => send(reply, 'error', page),
    routes: (app) => {
      app.get<{ Params: { file: string } }>('/assets/:file', (request, reply) => {
        const { file } = request.params
        const asset = [sheet, script].find(({ name }) => {
          const [stem = '', rest = ''] = name.split(/-[0-9a-f]{16}/)
          return file.startsWith(`${stem}-`) && file.endsWith(rest)
        })
        // During a rolling update a page may come from a newer node than its style sheet.
        if (!asset || !/^[a-z]+-[0-9a-f]{16}\.[a-z]+$/.test(file)) return reply.callNotFound()
        const caching = file === asset.name ? 'public, max-age=31536000, immutable' : 'no-cache'
        return reply.header('cache-control', caching).type(asset.type).send(asset.body)
      })
    },
  }
}
