/**
 * Everything that can be said about a realm from its files alone: the schema, rules across fields and documents,
 * references, renames, secrets, weak choices. All of it in one run; nothing of the environment or a server is asked.
 */

import { authenticatorIds } from '#schemas/drivers/authenticators.ts'
import { rules } from '#schemas/rules/index.ts'
import { createOnce, type RuleContext } from '#schemas/rules/rule.ts'
import { nearest } from '#schemas/text/typos.ts'
import { byPlace, type Diagnostic, type Place } from '../diagnostics.ts'
import type { Loaded, LoadedRealm } from '../load/loaded.ts'
import { checkNames } from './checks/names.ts'
import { checkRealmName, checkRealmNames } from './checks/realm-name.ts'
import { checkReferences } from './checks/references.ts'
import { checkRenames } from './checks/renames.ts'
import { checkSecrets } from './checks/secrets.ts'
import { checkText } from './checks/text.ts'
import { checkUnreachedProviders } from './checks/unreached-providers.ts'
import { weakChoices } from './checks/weak-choices/index.ts'
import { didYouMean, type Finding } from './finding.ts'
import { locate, pathText, segmentsOf, valueAt } from './locate.ts'
import { createModel, type Declared, type Model } from './model.ts'
import { createSchemaCheck } from './schema.ts'

export interface Validator {
  validateRealm(loaded: LoadedRealm): Diagnostic[]
  /** What could not be read along with what is wrong in the realms, by file and line. */
  validate(loaded: Loaded): Diagnostic[]
}

const contextOf = ({ secrets }: Declared, model: Model, once: RuleContext['once']): RuleContext => {
  const given = new Set(Object.keys(secrets))
  return {
    find: model.find,
    all: model.all,
    once,
    settings: model.settings,
    secrets: given,
    given,
  }
}

const checkRules = (model: Model): Finding[] => {
  const once = createOnce()
  return model.declared.flatMap((document) => {
    const rule = document.sound ? rules.get(document.kind.kind) : undefined
    if (rule === undefined) return []
    return rule(model.complete(document), document.key, contextOf(document, model, once)).map(
      ({ field, code, message }) => ({
        severity: 'error',
        code,
        pointer: `${document.pointer}${field}`,
        at: code === 'unknown-field' ? 'key' : 'value',
        message,
        ...hintFor(code, valueAt(document.doc, segmentsOf(field))),
      }),
    )
  })
}

/** A rule names what is wrong; what was probably meant is for people at a file. */
const hintFor = (code: string, value: unknown): { readonly hint?: string } =>
  code === 'unknown-authenticator' && typeof value === 'string'
    ? didYouMean(nearest(value, authenticatorIds))
    : {}

const checkWeakChoices = (model: Model): Finding[] => {
  const byKind = Map.groupBy(weakChoices, ({ kind }) => kind)
  return model.declared.flatMap((document) =>
    document.sound
      ? (byKind.get(document.kind) ?? []).flatMap(({ code, find }) =>
          find(document, model).map(({ field, message, hint }) => ({
            severity: 'warning' as const,
            code,
            pointer: `${document.pointer}${field}`,
            message,
            ...(hint === undefined ? {} : { hint }),
          })),
        )
      : [],
  )
}

/** The position of a pointer, or of its nearest parent in the file. */
const placeOf = (
  { placeOf }: LoadedRealm,
  { pointer, at = 'value' }: Finding,
): Place | undefined => {
  let place = placeOf(pointer, at)
  for (let above = pointer; place === undefined && above !== ''; ) {
    above = above.slice(0, above.lastIndexOf('/'))
    place = placeOf(above, 'value')
  }
  return place
}

/** `client "web", redirectUris[0]`: which document, and where in it. */
const subjectOf = (pointer: string, keys: ReadonlyMap<string, string>): string => {
  const { kind, entry, rest } = locate(pointer)
  if (kind === undefined) return pathText(rest)
  const key = keys.get(entry) ?? ''
  const named = key === '' ? pathText(entry.slice(1).split('/')) : `${kind.kind} "${key}"`
  const label = kind.shape === 'singleton' ? kind.section : named
  return rest.length === 0 ? label : `${label}, ${pathText(rest)}`
}

/** Longer names are shown in part: a value may be a whole file. */
const longestName = 120

const withShortNames = (diagnostic: Diagnostic): Diagnostic =>
  diagnostic.message.length <= longestName
    ? diagnostic
    : {
        ...diagnostic,
        message: diagnostic.message.replaceAll(/"[^"]*"/g, (name) =>
          name.length > longestName ? `${name.slice(0, longestName)}…"` : name,
        ),
      }

/** A value that could not be read stands as null in the realm: its type is not reported again. */
const withoutEchoes = (
  unread: readonly Diagnostic[],
  found: readonly Diagnostic[],
): readonly Diagnostic[] => {
  const keyOf = ({ file, line, column }: Place): string => `${file}:${line}:${column}`
  const places = new Set(unread.flatMap(({ place }) => (place === undefined ? [] : keyOf(place))))
  if (places.size === 0) return found
  return found.filter(
    ({ code, place }) => code !== 'type' || place === undefined || !places.has(keyOf(place)),
  )
}

/** Text with a variable that has no value: whatever else is said of it is an echo of that, told once for all uses. */
const isUnfilled = (value: unknown): boolean =>
  typeof value === 'string' && value.includes('${var:')

export interface ValidatorOptions {
  /** Whether other estates may declare what the files of a realm refer to. */
  readonly isShared?: (realm: string) => boolean
}

export const createValidator = ({ isShared = () => false }: ValidatorOptions = {}): Validator => {
  const checkSchema = createSchemaCheck()

  const validateRealm = (loaded: LoadedRealm, isFilled = true): Diagnostic[] => {
    const { findings, misshapen } = checkSchema(loaded.value)
    const unsound = new Set(misshapen.map((pointer) => locate(pointer).entry))
    const wrong = new Set(findings.map(({ pointer }) => pointer))
    const model = createModel(loaded.flat, (pointer) => !unsound.has(pointer))
    const found: readonly Finding[] = [
      ...findings,
      ...checkText(loaded.value),
      ...checkRealmName(loaded),
      // A field that no provider has is not one of another provider.
      ...checkRules(model).filter(
        ({ code, pointer }) => code !== 'unknown-field' || !wrong.has(pointer),
      ),
      ...checkReferences(model, {
        files: loaded.elsewhere.length > 0,
        estates: isShared(loaded.realm),
      }),
      ...checkRenames(model),
      ...checkNames(model, (pointer) => wrong.has(pointer)),
      ...checkSecrets(model),
      ...checkUnreachedProviders(model),
      // An error says enough.
      ...checkWeakChoices(model).filter(({ pointer }) => !wrong.has(pointer)),
    ]
    const all = isFilled
      ? found
      : found.filter(({ pointer }) => !isUnfilled(valueAt(loaded.value, segmentsOf(pointer))))
    if (all.length === 0) return []
    const keys = new Map(model.declared.map(({ pointer, key }) => [pointer, key]))
    return all.map((finding) => {
      const { severity, code, pointer, about, message, hint, related } = finding
      const place = placeOf(loaded, finding)
      const subject = subjectOf(about ?? pointer, keys)
      const places = (related ?? []).flatMap((one) => {
        const where = loaded.placeOf(one.pointer)
        return where === undefined ? [] : [{ message: one.message, place: where }]
      })
      return {
        severity,
        code,
        message: subject === '' ? message : `${subject}: ${message}`,
        ...(place === undefined ? {} : { place }),
        ...(hint === undefined ? {} : { hint }),
        ...(places.length === 0 ? {} : { related: places }),
      }
    })
  }

  return {
    validateRealm,
    validate: ({ realms, diagnostics }) => {
      const isFilled = diagnostics.every(({ code }) => code !== 'variable-unknown')
      const found = [
        ...realms.flatMap((realm) => validateRealm(realm, isFilled)),
        ...checkRealmNames(realms),
      ]
      return [...diagnostics, ...withoutEchoes(diagnostics, found)]
        .map(withShortNames)
        .sort(byPlace)
    },
  }
}
