import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { algorithmNames } from '../packages/intake/src/algorithms.ts'
import { errorTable } from '../packages/server/src/errors.ts'
import {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCheckRequest,
  AccessRuleCreate,
  AccessRuleUpdate,
} from '../packages/server/src/features/access-rules/contract.ts'
import {
  ApiKey,
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyUpdate,
} from '../packages/server/src/features/api-keys/contract.ts'
import { Event, HistoryEvent } from '../packages/server/src/features/events/contract.ts'
import { Status } from '../packages/server/src/features/health/contract.ts'
import { KeyImport, KeyImportReport } from '../packages/server/src/features/imports/contract.ts'
import { KeyHistory } from '../packages/server/src/features/key-history/contract.ts'
import {
  KeyReporter,
  KeyUseReport,
  KeyUsesReported,
  Verifiers,
} from '../packages/server/src/features/key-uses/contract.ts'
import {
  JwtKey,
  JwtKeyCreate,
  JwtKeyEnded,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
  KeyImportItem,
  KeyState,
  KeyStateEntry,
  KeyUse,
} from '../packages/server/src/features/keys/contract.ts'
import { LedgerProof, LogTree } from '../packages/server/src/features/log/contract.ts'
import { Project } from '../packages/server/src/features/projects/contract.ts'
import { Discovery, Jwks } from '../packages/server/src/features/publishing/contract.ts'
import {
  RegistrationLink,
  RegistrationLinkCreate,
  RegistrationLinkCreated,
  RegistrationSession,
} from '../packages/server/src/features/registration-links/contract.ts'
import {
  Rotation,
  RotationCreate,
  RotationUpdate,
} from '../packages/server/src/features/rotations/contract.ts'
import { Search } from '../packages/server/src/features/search/contract.ts'
import {
  Person,
  Self,
  Session,
  SignedOut,
  SignInOptions,
} from '../packages/server/src/features/sign-in/contract.ts'
import {
  KeyCheck,
  TokenCheck,
  tokenCheckReasons,
  tokenCheckSteps,
} from '../packages/server/src/features/token-checks/contract.ts'
import { TokenExchangeResponse } from '../packages/server/src/features/token-exchange/contract.ts'
import { ProjectHealth, Warning } from '../packages/server/src/features/warnings/contract.ts'
import { Actor, Problem, roles } from '../packages/server/src/kernel/contract.ts'
import { tokenCheckOutcomes } from '../packages/server/src/tokens/findings.ts'

/** The parts of JSON Schema that the contract uses. */
type Schema = {
  type?: string | readonly string[]
  description?: string
  default?: unknown
  enum?: readonly string[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  patternProperties?: Record<string, Schema>
  required?: readonly string[]
  anyOf?: readonly Schema[]
  $ref?: string
}

/** Types that are stated by others. */
const derived: Record<string, string> = {
  Algorithm: '(typeof algorithms)[number]',
  JwsAlgorithm: "Exclude<Algorithm, 'RSA'>",
}

/** The types that `@pubring/client` exports, in the order of the file. */
const contract: Record<string, object> = {
  Algorithm: {
    enum: algorithmNames,
    description: 'The `algorithm` of a key. `RSA` means RS256; every other value is a JWS `alg`.',
  },
  JwsAlgorithm: {
    enum: algorithmNames.filter((name) => name !== 'RSA'),
    description: 'A JWS `alg`, as in the JWKS and in the header of a token.',
  },
  Role: {
    enum: roles,
    description:
      'A role, from weak to strong; `auditor` is beside the others: it reads everything and changes nothing.',
  },
  LinkCreator: {
    ...Actor.properties.link.properties.createdBy,
    description: 'Who created a registration link.',
  },
  Actor,
  Project,
  KeyUse,
  KeyState,
  KeyStateEntry,
  JwtKey,
  JwtKeyWithDetails,
  JwtKeyCreate: { ...JwtKeyCreate, description: 'A key to register.' },
  JwtKeyUpdate,
  JwtKeyEnded,
  JwtKeyUpdated,
  Rotation,
  RotationCreate: { ...RotationCreate, description: 'A rotation to start.' },
  RotationUpdate,
  KeyUseReport: { ...KeyUseReport, description: 'The keys that a verifier has seen in use.' },
  KeyUsesReported,
  KeyReporter,
  Verifiers,
  RegistrationLink,
  RegistrationLinkCreated,
  RegistrationLinkCreate: { ...RegistrationLinkCreate, description: 'A link to create.' },
  RegistrationSession,
  ApiKey,
  ApiKeyCreated: { ...ApiKeyCreated, description: 'A new API key with its secret.' },
  ApiKeyCreate: { ...ApiKeyCreate, description: 'An API key to create.' },
  ApiKeyUpdate,
  AccessRule,
  AccessRuleCreate: { ...AccessRuleCreate, description: 'An access rule to create.' },
  AccessRuleUpdate,
  AccessRuleCheckRequest: {
    ...AccessRuleCheckRequest,
    description: 'A token, or the claims of a person, for the check of an access rule.',
  },
  AccessRuleCheck,
  TokenExchangeResponse,
  SignInOptions,
  Session,
  Person,
  Self,
  SignedOut: { ...SignedOut, description: 'The end of a session.' },
  Event,
  HistoryEvent,
  Search,
  Warning,
  ProjectHealth,
  Status,
  LedgerProof,
  LogTree,
  KeyFinding: {
    ...KeyCheck.properties.warnings.items,
    description: 'A reason to reject a key, or a warning about it.',
  },
  KeyCheck,
  TokenCheckStep: { enum: tokenCheckSteps, description: 'The steps of a token check, in order.' },
  TokenCheckOutcome: {
    enum: tokenCheckOutcomes,
    description:
      'The outcome of a step. `warned`: some verifiers reject the token for this. `skipped`: nothing was compared.',
  },
  TokenCheckReason: {
    enum: Object.values(tokenCheckReasons),
    description: 'Why a token does not verify.',
  },
  TokenCheck,
  Jwk: { ...Jwks.properties.keys.items, description: 'A key of a JWKS (RFC 7517).' },
  Jwks,
  KeyHistory,
  Discovery,
  Problem,
  ServiceErrorCode: {
    enum: Object.keys(errorTable),
    description:
      'The `code` of every error of the service (RFC 9457), explained in docs/errors.md.',
  },
  KeyImportItem: { ...KeyImportItem, description: 'A key to import.' },
  KeyImport: { ...KeyImport, description: 'Keys to import into one project: all or none.' },
  Room: {
    ...KeyImportReport.properties.room.properties.keys,
    description: 'A quantity before and after an import, and its limit.',
  },
  KeyImportReport,
}

/** The same as plain JSON Schema. */
const types: Record<string, Schema> = JSON.parse(JSON.stringify(contract))

/** The content of `packages/client/src/types.ts`. */
export function clientTypes(): string {
  const declarations = Object.keys(types).map(declaration)
  const names = algorithmNames.map((name) => `'${name}'`).join()
  const source = [
    '// Generated from the contracts of packages/server by npm run generate.\n',
    `/** All values of \`Algorithm\`. */\nexport const algorithms = [${names}] as const\n`,
    ...declarations,
  ]
  return format(source.join('\n'))
}

/** A type with all members of another one is stated as an extension of the largest such. */
function declaration(name: string): string {
  const schema = types[name] ?? {}
  const own = membersOf(schema)
  const isBase = (other: string) => {
    const members = membersOf(types[other] ?? {})
    const isPart = members.length < own.length && members.every((member) => own.includes(member))
    return members.length > 1 && isPart
  }
  const size = (other: string) => membersOf(types[other] ?? {}).length
  const base = Object.keys(types)
    .filter(isBase)
    .toSorted((one, other) => size(other) - size(one))[0]
  if (base === undefined) {
    return `${comment(schema)}export type ${name} = ${derived[name] ?? declare(schema)}\n`
  }
  const inherited = membersOf(types[base] ?? {})
  const added = own.filter((member) => !inherited.includes(member))
  return `${comment(schema)}export interface ${name} extends ${base} {\n${added.join('\n')}\n}\n`
}

function format(source: string): string {
  const biome = fileURLToPath(import.meta.resolve('@biomejs/biome/bin/biome'))
  const args = [biome, 'format', '--stdin-file-path=packages/client/src/types.ts']
  return execFileSync(process.execPath, args, { input: source, encoding: 'utf8' })
}

/** The name of the exported type with this shape, or the type written out. */
function typeOf(schema: Schema): string {
  const { $ref, enum: values, properties, items, patternProperties, anyOf } = schema
  if ($ref !== undefined) return $ref.replace('#', '')
  if (values !== undefined || properties !== undefined) {
    const shape = shapeOf(schema)
    const name = Object.keys(types).find((each) => shapeOf(types[each] ?? {}) === shape)
    return name ?? declare(schema)
  }
  if (items?.anyOf !== undefined) return `(${typeOf(items)})[]`
  if (items !== undefined) return `${typeOf(items)}[]`
  if (patternProperties !== undefined) {
    return `Record<string, ${Object.values(patternProperties).map(typeOf).join()}>`
  }
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ')
  const { type = '', additionalProperties = {} } = schema
  if (type === 'object') {
    const members = typeof additionalProperties === 'object' ? additionalProperties : {}
    return `Record<string, ${typeOf(members)}>`
  }
  return [type]
    .flat()
    .map((one) => primitives[one] ?? 'unknown')
    .join(' | ')
}

const primitives: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** Equal for schemas that differ only in their descriptions and examples. */
function shapeOf({ enum: values, properties, required }: Schema): string {
  return JSON.stringify({ values, properties, required }, (key, value) =>
    key === 'examples' || (typeof value === 'string' && key === 'description') ? undefined : value,
  )
}

function declare(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `'${value}'`).join(' | ')
  return `{\n${membersOf(schema).join('\n')}\n}`
}

function membersOf({ properties = {}, required = [], anyOf = [] }: Schema): string[] {
  // The client has the first of members that exclude each other, such as `name` and `label`.
  const [alternative, ...others] = anyOf.map((each) => each.required ?? [])
  const isRequired = (name: string) => [...required, ...(alternative ?? [])].includes(name)
  return Object.entries(properties)
    .filter(([name]) => !others.flat().includes(name))
    .map(([name, member]) => {
      return `${comment(member)}${name}${isRequired(name) ? '' : '?'}: ${typeOf(member)}`
    })
}

function comment({ description, default: value }: Schema): string {
  const parts = [description, value === undefined ? undefined : `Default: \`${value}\`.`]
  const text = parts.filter((part) => part !== undefined).join(' ')
  return text === '' ? '' : `/** ${text} */\n`
}

if (import.meta.main) {
  writeFileSync(new URL('../packages/client/src/types.ts', import.meta.url), clientTypes())
}
