/** Flows beyond CRUD: rename by PATCH, the browser sign-in flow, the list of authenticators. */

import { authenticators } from '#schemas/drivers/authenticators.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { bodyView, readView } from '#schemas/views.ts'
import type { Presenter } from '#server/realm/crud/present.ts'
import { findIn } from '#server/realm/read/find.ts'
import { type Put, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'

export interface FlowParts {
  readonly writer: Writer
  readonly presenter: Presenter
  readonly copy: Copy
}

const common = { permission: 'manage-authorization', resourceType: Flow.resourceType } as const
const reply = { status: 200, schema: readView(Flow) } as const

const newAlias = {
  type: 'string',
  'x-described': { minLength: 1, maxLength: 255, format: 'segment' },
} as const

const browserFlowIn = async ({ view }: ActionContext): Promise<StoredDocument> => {
  const { browserFlow } = contentOf<SettingsDoc>(await findIn(view, Settings, Settings.kind))
  return findIn(view, Flow, browserFlow)
}

export const flowActions = ({ writer, presenter, copy }: FlowParts): Action[] => {
  const show = async ({ realm }: ActionContext, alias: string) => {
    const view = await copy.fresh(realm)
    if (!view) throw new Problem('not-found', `there is no realm "${realm}"`)
    return presenter.one(Flow, await findIn(view, Flow, alias), view)
  }

  const put = (
    { realm, caller }: ActionContext,
    flow: StoredDocument,
    key: string,
    doc: Put['doc'],
  ) =>
    writer.write({
      realm,
      caller,
      channel: restChannel,
      operations: [
        { op: 'put', kind: Flow, key, id: flow.id, doc, secrets: {}, expect: { exists: true } },
      ],
    })

  return [
    {
      ...common,
      operationId: 'rename-flow',
      method: 'PATCH',
      path: '/flows/:id',
      summary: 'Renames a flow; what refers to it follows',
      body: bodyOf({ alias: newAlias, newName: newAlias }, []),
      reply,
      handle: async (context) => {
        const { alias, newName = alias } = asChecked<{ alias?: string; newName?: string }>(
          context.body,
        )
        const flow = await findIn(context.view, Flow, context.params['id'] ?? '')
        if (newName === undefined)
          throw invalid([{ field: '/newName', code: 'required', message: 'is required' }])
        if (flow.origin === 'built-in')
          throw new Problem('built-in', `flow "${flow.key}" is part of every realm`)
        await put(context, flow, newName, (before) => ({ ...before, alias: newName }))
        return show(context, newName)
      },
    },
    {
      ...common,
      operationId: 'read-browser-flow',
      method: 'GET',
      path: '/flow',
      summary: 'The flow of a sign-in in a browser',
      reply,
      handle: async (context) => show(context, (await browserFlowIn(context)).key),
    },
    {
      ...common,
      operationId: 'replace-browser-flow',
      method: 'PUT',
      path: '/flow',
      summary: 'Saves the flow of a sign-in in a browser',
      body: bodyView(Flow),
      reply,
      handle: async (context) => {
        const flow = await browserFlowIn(context)
        const alias = String(context.body['alias'])
        await put(context, flow, alias, context.body)
        return show(context, alias)
      },
    },
    {
      ...common,
      operationId: 'list-authenticators',
      method: 'GET',
      path: '/authenticators',
      summary: 'The authenticators that a flow can name',
      reply: {
        status: 200,
        schema: {
          type: 'array',
          items: bodyOf({
            id: { type: 'string' },
            displayName: { type: 'string' },
            description: { type: 'string' },
          }),
        },
      },
      handle: async () => authenticators,
    },
  ]
}
