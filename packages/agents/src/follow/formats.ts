import { join } from 'node:path'
import { writePem } from '@pubring/intake/encoding'
import { placeholderJwks } from '@pubring/server/features/keys/kids'
import {
  fileNameOf,
  type PublishedKey,
  type PublishedKeys,
  spkiOf,
  verifyingKeys,
} from './published-keys.ts'

export interface OutputFile {
  path: string
  content: string
}

/** The text that a format writes for the key sets. */
export interface Output {
  /** The folder of the key files, or of their folders; absent if the format has none. */
  keyFolder?: string
  /** One for each key; earlier ones are removed when their key is gone. */
  keyFiles: OutputFile[]
  /** Written after the files of new keys and before those of old keys are removed. */
  files: OutputFile[]
}

export interface FormatOptions {
  /** `--out`, as an absolute path. */
  out: string
  /** How many projects are followed. */
  projectCount: number
  /** The text of `--template`. */
  template: string
  /** Keys of other algorithms are left out; without any, ML-DSA keys. */
  algorithms: readonly string[]
}

/** The files for the key sets. */
export type Format = (sets: readonly PublishedKeys[], options: FormatOptions) => Output

/** Every value of `--format`. */
export const formats: Readonly<Record<string, Format>> = {
  /** A JWKS file; for several projects a folder with one for each. */
  jwks: (sets, options) => ({
    keyFiles: [],
    files: sets.map((set) => ({
      path: pathFor(options, `${fileNameOf(set.project)}.json`),
      content: `${jwksText(selectKeys(set, options))}\n`,
    })),
  }),
  /** A folder with KID.pem for each key; for several projects with a folder for each. */
  'pem-dir': (sets, options) => ({
    keyFolder: options.out,
    keyFiles: sets.flatMap((set) => pemFiles(set, options).map(({ file }) => file)),
    files: [],
  }),
  /** A configuration with a defaults section for each project, and a folder FILE.d of PEM files. */
  haproxy(sets, options) {
    const keyFolder = `${options.out}.d`
    const all = sets.map((set) => ({ set, keys: pemFiles(set, { ...options, out: keyFolder }) }))
    const content = all.map(({ set, keys }) => haproxySection(set.project, keys)).join('\n')
    return {
      keyFolder,
      keyFiles: all.flatMap(({ keys }) => keys.map(({ file }) => file)),
      files: [{ path: options.out, content: haproxyHead + content }],
    }
  },
  /** The template with each {{jwks}} replaced by the JWKS as the content of a quoted string. */
  'envoy-lds': (sets, options) => ({
    keyFiles: [],
    files: [{ path: options.out, content: fillTemplate(sets, options) }],
  }),
  /** A module for njs whose default export is a list of {issuer, kid, alg, spki}, in base64. */
  nginx: (sets, options) => ({
    keyFiles: [],
    files: [{ path: options.out, content: njsModule(sets, options) }],
  }),
}

export function jwksText(keys: readonly PublishedKey[]): string {
  return JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })
}

function pathFor({ out, projectCount }: FormatOptions, name: string): string {
  return projectCount === 1 ? out : join(out, name)
}

function selectKeys(set: PublishedKeys, { algorithms }: FormatOptions): PublishedKey[] {
  if (algorithms.length === 0) return verifyingKeys(set.jwks)
  return verifyingKeys(set.fullJwks).filter(({ alg }) => algorithms.includes(alg))
}

/** The PEM file of each key that this Node can convert. */
function pemFiles(set: PublishedKeys, options: FormatOptions) {
  const folder = pathFor(options, fileNameOf(set.project))
  return selectKeys(set, options).flatMap((key) => {
    const spki = spkiOf(key)
    if (spki === undefined) return []
    const path = join(folder, `${fileNameOf(key.kid)}.pem`)
    return [{ key, file: { path, content: writePem(spki) } }]
  })
}

const haproxyHead = `# Written by pubring jwks follow, which replaces this file when keys change.
# A frontend uses it by "frontend NAME from pubring-PROJECT" and rejects a token that is not verified:
#     http-request deny deny_status 401 unless { var(txn.pubring_verified) -m int 1 }

`

/** The algorithms of HAProxy's jwt_verify for public keys. */
const haproxyAlgorithms = /^(?:RS|PS|ES)(?:256|384|512)$/

function haproxySection(
  project: string,
  keys: readonly { key: PublishedKey; file: OutputFile }[],
): string {
  const rules = keys
    .filter(({ key }) => haproxyAlgorithms.test(key.alg))
    .map(({ key, file }) => {
      const verify = `http_auth_bearer,jwt_verify(txn.pubring_alg,${haproxyArgument(file.path)})`
      const isKey = `{ var(txn.pubring_kid) -m str -- ${haproxyQuote(key.kid)} }`
      return `    http-request set-var(txn.pubring_verified) ${verify} if ${isKey} { var(txn.pubring_alg) -m str ${key.alg} }`
    })
  return [
    `defaults pubring-${fileNameOf(project)}`,
    '    mode http',
    "    http-request set-var(txn.pubring_alg) http_auth_bearer,jwt_header_query('$.alg')",
    "    http-request set-var(txn.pubring_kid) http_auth_bearer,jwt_header_query('$.kid')",
    ...rules,
    '',
  ].join('\n')
}

/** A word of HAProxy's configuration in strong quotes, in which nothing else is special. */
function haproxyQuote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`
}

/** An argument of a sample fetch method, which is unquoted twice. */
function haproxyArgument(path: string): string {
  return haproxyQuote(`"${path.replace(/["\\]/g, '\\$&')}"`)
}

const placeholderPattern = /\{\{\s*jwks(?:\s+([^\s}]+))?\s*\}\}/g

/** The fault of the template, as the end of a sentence. */
export function templateProblem(template: string, projects: readonly string[]): string | undefined {
  const found = [...template.matchAll(placeholderPattern)]
  if (found.length === 0) return 'has no {{jwks}} to replace'
  const [wrong] =
    found.find(([, project]) => {
      return project === undefined ? projects.length > 1 : !projects.includes(project)
    }) ?? []
  return wrong && `has ${wrong}, which names none of the projects ${projects.join(', ')}`
}

/**
 * Envoy rejects an empty set and keeps the old keys, so a set without keys is Pubring's placeholder,
 * as in `jwks.json`. The escapes are those of JSON, which YAML shares in double quotes.
 */
function fillTemplate(sets: readonly PublishedKeys[], options: FormatOptions): string {
  return options.template.replace(placeholderPattern, (_, project = sets[0]?.project) => {
    const set = sets.find((one) => one.project === project)
    const keys = set === undefined ? [] : selectKeys(set, options)
    return JSON.stringify(keys.length === 0 ? placeholderJwks : jwksText(keys)).slice(1, -1)
  })
}

/**
 * A list, since njs has no Map, and an object would have members that are no keys. Each entry names its
 * issuer, since two projects may have published the same kid.
 */
function njsModule(sets: readonly PublishedKeys[], options: FormatOptions): string {
  const lines = sets.flatMap((set) =>
    selectKeys(set, options).flatMap((key) => {
      const spki = spkiOf(key)?.toString('base64')
      const entry = { issuer: set.discovery.issuer, kid: key.kid, alg: key.alg, spki }
      return spki === undefined ? [] : [`  ${asciiJson(entry)},\n`]
    }),
  )
  return `// Written by pubring jwks follow, which replaces this file when keys change.\nexport default [\n${lines.join('')}]\n`
}

/** JSON that is a JavaScript expression for engines in which U+2028 ends a line, too. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
