/** The steps of a generated pipeline, as its system would run them. */
import { readFileSync } from 'node:fs'
import { load as parseYaml } from 'js-yaml'

export interface Step {
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  /** Below the checkout. */
  readonly folder: string
  /** Also where a step before it failed. */
  readonly always: boolean
}

/** Secrets and facts of the event, by the expression or variable that names them. */
export type Values = Readonly<Record<string, string>>

type Env = Readonly<Record<string, string | number>>

interface Workflow {
  readonly env: Env
  readonly defaults: { readonly run: { readonly 'working-directory': string } }
  readonly jobs: Readonly<Record<string, { readonly env?: Env; readonly steps: WorkflowStep[] }>>
}

interface WorkflowStep {
  readonly run?: string
  readonly uses?: string
  readonly if?: string
  readonly env?: Env
}

/** A secret that the job does not have is empty, as there; any other expression must be known. */
const evaluated = (text: string | number, values: Values): string =>
  String(text).replaceAll(/\$\{\{\s*([\w.]+)\s*\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined && !name.startsWith('secrets.')) throw new Error(`${name} is not known`)
    return value ?? ''
  })

const mapped = (env: Env, change: (value: string | number) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, change(value)]))

/** What the actions do is done: the checkout is there, and so is Node.js. */
const actions = ['actions/checkout@v5', 'actions/setup-node@v5']

export const githubSteps = (file: string, job: string, values: Values): Step[] => {
  const { env, defaults, jobs } = parseYaml(readFileSync(file, 'utf8')) as Workflow
  const found = jobs[job]
  if (!found) throw new Error(`there is no job ${job}`)
  return found.steps
    .filter(({ uses = '' }) => !actions.includes(uses))
    .map((step) => {
      if (step.run === undefined) throw new Error(`${step.uses} is not known`)
      return {
        script: evaluated(step.run, values),
        env: mapped({ ...env, ...found.env, ...step.env }, (value) => evaluated(value, values)),
        folder: defaults.run['working-directory'],
        always: step.if !== undefined,
      }
    })
}

interface Job {
  readonly variables?: Env
  readonly script: readonly string[]
  readonly after_script?: readonly string[]
}

type Pipeline = Readonly<Record<string, Job>> & {
  readonly variables: Env
  readonly before_script: readonly string[]
}

/** `before_script` and `script` share a shell, `after_script` has its own; variables of the project win over those of the file. */
export const gitlabSteps = (file: string, job: string, values: Values): Step[] => {
  const pipeline = parseYaml(readFileSync(file, 'utf8')) as Pipeline
  const found = pipeline[job]
  if (!found) throw new Error(`there is no job ${job}`)
  const own = mapped({ ...pipeline.variables, ...found.variables }, (value) =>
    String(value).replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? ''),
  )
  const stepOf = (lines: readonly string[], always: boolean): Step => ({
    script: lines.join('\n'),
    env: { ...own, ...values },
    folder: '.',
    always,
  })
  return [
    stepOf([...pipeline.before_script, ...found.script], false),
    ...(found.after_script ? [stepOf(found.after_script, true)] : []),
  ]
}
