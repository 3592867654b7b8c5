import { projectsWith, readerAccess } from '../../kernel/access/grants.ts'
import type { Principal } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { earliest, isActive, isExpired, now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { readApiKeys } from '../api-keys/reads.ts'
import { readKeyStates } from '../keys/reads.ts'
import type { KeyState } from '../keys/stored.ts'
import { readProjectNames } from '../projects/reads.ts'
import { readOpenRotations } from '../rotations/reads.ts'
import type { ProjectHealth, Warning } from './contract.ts'
import { apiKeyWarnings, keyWarnings, liveRotations, urgency } from './rules.ts'
import { keyStatisticsOf } from './statistics.ts'

/** The most that are listed. */
const maxWarnings = 200

/**
 * The warnings for the caller, the most urgent first. For callers that see all projects, those
 * with warnings come from the last census, up to a minute ago; the warnings themselves are current.
 */
export async function listWarnings(kernel: Kernel, { grants }: Principal): Promise<Warning[]> {
  const { store, clock } = kernel
  const time = now(clock)
  const visible = projectsWith(grants, readerAccess)
  const projects =
    visible === 'all' ? (await keyStatisticsOf(kernel).census()).warnedProjects : visible
  const states = await readStates(store, projects, time)
  const administered = projectsWith(grants, { role: 'admin', auditor: true })
  const apiKeys = administered.length === 0 ? [] : await readApiKeys(store.reader, administered)
  const warnings = [
    ...projects.flatMap((id) => keyWarnings(states(id).keys, time)),
    ...apiKeys.flatMap((apiKey) => apiKeyWarnings(apiKey, time)),
  ]
  const shown = warnings.sort(compareUrgency).slice(0, maxWarnings)
  const names = await readProjectNames(store.reader, shown)
  return shown.map((warning) => ({ ...warning, ...names.get(warning.projectId ?? '') }))
}

function compareUrgency(one: Warning, other: Warning): number {
  const bySeverity = urgency.indexOf(one.severity) - urgency.indexOf(other.severity)
  return bySeverity || (one.time ?? '').localeCompare(other.time ?? '')
}

/** The state of each project, in the order of the projects. */
export async function projectHealth(
  { store, clock }: Context,
  projects: readonly { id: string }[],
): Promise<ProjectHealth[]> {
  const time = now(clock)
  const ids = projects.map(({ id }) => id)
  const states = await readStates(store, ids, time)
  return ids.map((projectId) => healthOf(projectId, states(projectId), time))
}

function healthOf(
  projectId: string,
  { keys, rotations }: ProjectState,
  time: string,
): ProjectHealth {
  const active = keys.filter((key) => isActive(key, time))
  const expired = keys.filter((key) => isExpired(key, time))
  return {
    projectId,
    keys: {
      active: active.length,
      off: keys.length - active.length - expired.length,
      expired: expired.length,
    },
    ...present({ nextExpireTime: earliest(...active.map(({ expireTime }) => expireTime)) }),
    rotations: rotations.length,
    warnings: keyWarnings(keys, time).length,
  }
}

interface ProjectState {
  keys: KeyState[]
  rotations: ReturnType<typeof liveRotations>
}

async function readStates(
  store: Context['store'],
  projects: readonly string[],
  time: string,
): Promise<(projectId: string) => ProjectState> {
  const byProject = ({ projectId }: { projectId: string }) => projectId
  const keysOf = Map.groupBy(await readKeyStates(store.reader, projects), byProject)
  const rotationsOf = Map.groupBy(await readOpenRotations(store.reader, projects), byProject)
  return (id) => {
    const keys = keysOf.get(id) ?? []
    return { keys, rotations: liveRotations(rotationsOf.get(id) ?? [], keys, time) }
  }
}
