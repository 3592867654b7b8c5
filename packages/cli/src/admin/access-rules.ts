import type { AccessRule } from '@pubring/client'
import { findSecret } from '@pubring/intake/secrets'
import { claimAt } from '@pubring/server/features/access-rules/conditions'
import type { ClaimValue, Holders } from '@pubring/server/features/access-rules/contract'
import { type PlatformPreset, platformPresets } from '@pubring/server/features/access-rules/presets'
import type { Role } from '@pubring/server/kernel/contract'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { commandLine } from '../connection/command-lines.ts'
import { pickOne } from '../connection/pick.ts'
import { fetchRemote } from '../connection/remote.ts'
import { confirmOwn, type Session } from '../connection/session.ts'
import { privateKeyFile } from '../keys/files.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { usageError } from '../terminal/failures.ts'
import { readText } from '../terminal/files.ts'
import {
  type Column,
  formatMembers,
  formatSteps,
  formatTable,
  timeColumn,
} from '../terminal/table.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { formatDuration, formatState, parseDurationOption } from '../terminal/times.ts'
import { readToken } from '../tokens/check.ts'

/** Flags that `create` and `update` share. */
interface RuleFlags {
  name?: string
  jwksUri?: string
  jwksFile?: string
  audience?: string
  condition?: string[]
  role?: Role
  maxLifetime?: string
  singleUse?: boolean
}

/** Lets the active keys of the project vouch for others; the rule that does so already, if there is one. */
export async function createSelfRotationRule(
  { client, project }: Pick<Session, 'client' | 'project'>,
  name = 'self-rotation',
): Promise<AccessRule> {
  const { id } = await client.projects.get(project)
  const { issuer } = await client.jwks.discovery(id)
  const rule = { for: 'workloads', keySource: 'project', role: 'registrar' } as const
  const rules = await client.accessRules.list()
  return (
    rules.find(({ keySource, projectId }) => keySource === 'project' && projectId === id) ??
    client.accessRules.create({ ...rule, name, issuer, conditions: {}, project: id })
  )
}

/** Creates an access rule and prints its id. The names of the presets are flags as well. */
export async function createRule(
  session: Session,
  flags: RuleFlags & { for: Holders; issuer?: string; allProjects?: true; selfRotation?: true },
): Promise<void> {
  const { project, notify, print } = session
  const rule = await (flags.selfRotation === true
    ? createSelfRotationRule(session, flags.name)
    : createGivenRule(session, flags))
  notify(describe(rule, project))
  for (const note of rule.notes ?? []) notify(note)
  print(rule, () => `${rule.id}\n`)
}

async function createGivenRule(
  { client, terminal, project, timeoutMs }: Session,
  flags: Parameters<typeof createRule>[1],
): Promise<AccessRule> {
  const { for: holders, issuer } = flags
  const chosen = choosePreset({ ...flags })
  const { conditions = {}, name = chosen?.subject, ...given } = await readFlags(terminal, flags)
  const role = given.role ?? (holders === 'workloads' ? 'registrar' : undefined)
  if (name === undefined) throw usageError('Give the rule a --name.')
  if (role === undefined) throw usageError('Give people a --role.')
  return client.accessRules.create({
    ...given,
    for: holders,
    name,
    role,
    ...present({ issuer: chosen?.preset.issuer ?? issuer }),
    conditions: chosen ? await presetConditions(chosen, conditions, timeoutMs) : conditions,
    ...(flags.allProjects === true ? { allProjects: true } : { project }),
  })
}

function describe(rule: AccessRule, project: string): string {
  const { issuer, conditions, role, allProjects, maxLifetime = 0 } = rule
  if (rule.keySource === 'project') return `The active keys of project ${project} vouch for others.`
  const claims = Object.entries(conditions).map(([claim, value]) => `${claim} ${value}`)
  const where = allProjects ? 'all projects' : `project ${project}`
  return rule.for === 'people'
    ? `People of ${issuer} with ${claims.join(', ')} have the role ${role} for ${where}.`
    : `Tokens of ${issuer} with ${claims.join(', ')} are exchanged for API keys (${role}, ${where}) of ${formatDuration(maxLifetime * 1_000)} at most.`
}

/** The members of a rule that the flags set. */
async function readFlags(terminal: Terminal, flags: RuleFlags) {
  const { name, jwksUri, jwksFile, audience, condition, role, maxLifetime, singleUse } = flags
  return present({
    name,
    jwksUri,
    jwks: jwksFile === undefined ? undefined : await readJwks(jwksFile, terminal),
    audience,
    conditions: condition && Object.fromEntries(condition.map(parseCondition)),
    role,
    maxLifetime:
      maxLifetime === undefined
        ? undefined
        : parseDurationOption(maxLifetime, '--max-lifetime', '60s', '15m'),
    singleUse,
  })
}

async function readJwks(file: string, terminal: Terminal) {
  const text = await readText(file, terminal)
  if (findSecret(text) !== undefined) throw privateKeyFile(file, Buffer.from(text))
  const value = parseJson(text)
  if (isObject(value) && Array.isArray(value.keys)) return { keys: value.keys }
  throw usageError('The file of --jwks-file must be a JWKS: {"keys":[…]}.')
}

/** `claim=text`, or `claim:=JSON` for a number or a boolean. */
function parseCondition(text: string): [string, ClaimValue] {
  const [, claim = '', colon, written = ''] = /^(.+?)(:)?=(.*)$/s.exec(text) ?? []
  const value = colon === undefined ? written : parseJson(written)
  const isClaimValue = ['string', 'number', 'boolean'].includes(typeof value)
  if (claim !== '' && isClaimValue) return [claim, value as ClaimValue]
  throw usageError(
    '--condition must be CLAIM=TEXT, or CLAIM:=VALUE for a number or a boolean, such as ref=refs/heads/main.',
  )
}

const columns: readonly Column<AccessRule>[] = [
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'NAME', value: ({ name }) => name, cut: true },
  { heading: 'FOR', value: (rule) => rule.for },
  { heading: 'ISSUER', value: ({ issuer }) => issuer, below: true },
  { heading: 'ROLE', value: ({ role }) => role },
  { heading: 'PROJECT', value: ({ projectId = 'all' }) => projectId, id: true },
  { heading: 'STATE', value: formatState },
  timeColumn('USED', ({ lastExchangeTime }) => lastExchangeTime, 'never'),
]

export async function listRules({ client, terminal, print }: Session): Promise<void> {
  const rules = await client.accessRules.list()
  print(rules, () => formatTable(terminal, columns, rules))
}

/** Shows a rule with the names of the API. */
export async function showRule(session: Session, ref: string): Promise<void> {
  const rule = await findRule(session, ref)
  session.print(rule, () => formatMembers(session.terminal, rule))
}

async function findRule(session: Session, ref: string): Promise<AccessRule> {
  return pickOne(await session.client.accessRules.list(), ref, {
    list: commandLine(session, 'access-rule list'),
    noun: 'access rule',
    nameOf: ({ name }) => name,
    describe: ({ issuer }) => `(${issuer})`,
  })
}

export async function updateRule(
  session: Session,
  ref: string,
  flags: RuleFlags & YesFlag & { removeCondition?: string[]; active?: 'true' | 'false' },
): Promise<void> {
  const { removeCondition: removed, active } = flags
  const { conditions, ...given } = await readFlags(session.terminal, flags)
  const without = removed && Object.fromEntries(removed.map((claim) => [claim, null]))
  const merged = conditions || without ? { ...without, ...conditions } : undefined
  const patch = present({ ...given, conditions: merged, active: active && active === 'true' })
  if (Object.keys(patch).length === 0) throw usageError('Name at least one change.')
  const { id, name } = await findRule(session, ref)
  const rule = await confirmOwn(session, flags, (confirmation) =>
    session.client.accessRules.update(id, patch, confirmation),
  )
  session.print(rule)
  session.notify(
    rule.for === 'people'
      ? `“${name}” is changed, for the next request of each session.`
      : `“${name}” is changed. Unless only its name changed, API keys exchanged before are no longer valid.`,
  )
  for (const note of rule.notes ?? []) session.notify(note)
}

export async function deleteRule(session: Session, ref: string, flags: YesFlag): Promise<void> {
  const { id, name, issuer, for: holders } = await findRule(session, ref)
  const ended =
    holders === 'people' ? 'the role that it gives people' : 'the API keys exchanged under it'
  await confirm(session.terminal, flags, {
    statement: `“${name}” (${issuer}) and ${ended} will no longer be valid.`,
    question: 'Delete it?',
  })
  await confirmOwn(session, flags, (confirmation) =>
    session.client.accessRules.delete(id, confirmation),
  )
  session.print({ deleted: id })
  session.notify(`“${name}” (${id}) is deleted.`)
}

/** Explains why the rule gives its role or not; exit code 1 if it does not. JSON holds claims. */
export async function checkRule(session: Session, ref: string, file: string): Promise<void> {
  const { client, terminal } = session
  const text = await readToken(file, terminal)
  const claims = parseJson(text)
  const { id } = await findRule(session, ref)
  const report = await client.accessRules.check(id, isObject(claims) ? { claims } : { token: text })
  const { green, red } = colorsFor(terminal)
  const verdict = report.accepted ? green('accepted') : red('not accepted')
  session.print(report, () => `${verdict}\n${formatSteps(terminal, report.steps, '  ')}`)
  if (!report.accepted) terminal.exitCode = exitCodes.failed.code
}

type Conditions = Readonly<Record<string, ClaimValue>>

/** A preset and the name that it is for, such as `owner/repo`. */
interface ChosenPreset {
  preset: PlatformPreset
  subject: string
}

/**
 * The preset whose flag is set: `--github OWNER/REPO`. Throws unless that or, for workloads, `--issuer` is,
 * alone.
 */
function choosePreset(flags: Readonly<Record<string, unknown>>): ChosenPreset | undefined {
  const chosen = platformPresets.filter(({ platform }) => flags[platform] !== undefined)
  const [preset] = chosen
  if (flags.for === 'people' && preset === undefined) return undefined
  if (chosen.length + (flags.issuer === undefined ? 0 : 1) !== 1) {
    const options = platformPresets.map(({ platform }) => `--${platform}`)
    throw usageError(`Name the issuer with one of ${options.join(', ')} or --issuer.`)
  }
  return preset && { preset, subject: String(flags[preset.platform]) }
}

/** The given conditions, those that the preset suggests, and the ids unless one of them is given. */
async function presetConditions(
  { preset: { title, lookup, ids, suggested }, subject }: ChosenPreset,
  given: Conditions,
  timeoutMs: number,
): Promise<Conditions> {
  const merged = { ...suggested, ...given }
  if (Object.keys(ids).some((claim) => claim in given)) return merged
  const options = Object.entries(ids).map(([claim, id]) => `--condition ${claim}=… (${id.title})`)
  const hint = `Name one: ${options.join(' or ')}.`
  if (lookup === undefined) throw usageError(`${title} does not publish ids.`, hint)
  const path = subject.split('/').map(encodeURIComponent).join('/')
  const address = lookup.replace('{name}', encodeURIComponent(subject)).replace('{path}', path)
  const response = await fetchRemote(new URL(address), {
    what: `the ids of ${subject}`,
    headers: { accept: 'application/json' },
    timeoutMs,
    hints: [`The ids of what is private are not public. ${hint}`],
  })
  const document = parseJson(response.toString())
  const found = Object.entries(ids).map(([claim, { pointer = '' }]) => {
    const id = isObject(document) ? claimAt(document, pointer) : undefined
    if (id === undefined) throw usageError(`The ids of ${subject} were not found.`, hint)
    return [claim, String(id)]
  })
  return { ...Object.fromEntries(found), ...merged }
}
