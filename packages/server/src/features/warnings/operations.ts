import { projectsWith, readerAccess } from '../../kernel/access/grants.ts'
import type { Principal } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { earliest, isActive, isExpired, now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { readApiKeys } from '../api-keys/reads.ts'
import { hasEnded } from '../keys/states.ts'
import { readProjectNames } from '../projects/reads.ts'
import type { ProjectHealth, Warning } from './contract.ts'
import { readProjectKeys } from './reads.ts'
import { apiKeyWarnings, compareUrgency, keyWarnings, type ProjectKeys } from './rules.ts'
import { keyStatisticsOf } from './statistics.ts'

/** The most that are listed. */
const maxWarnings = 200

/**
 * The warnings for the caller, the most urgent first. For callers that see all projects, those
 * with warnings come from the last census, up to a minute ago, and from the changes of this process since; the
 * warnings themselves are current.
 */
export async function listWarnings(kernel: Kernel, { grants }: Principal): Promise<Warning[]> {
  const { store, clock } = kernel
  const time = now(clock)
  const visible = projectsWith(grants, readerAccess)
  const projects = visible === 'all' ? await keyStatisticsOf(kernel).warnedProjects() : visible
  const states = await readProjectKeys(store.reader, projects)
  const administered = projectsWith(grants, { role: 'admin', auditor: true })
  const apiKeys = administered.length === 0 ? [] : await readApiKeys(store.reader, administered)
  const warnings = [
    ...projects.flatMap((id) => keyWarnings(states(id), time)),
    ...apiKeys.flatMap((apiKey) => apiKeyWarnings(apiKey, time)),
  ]
  const shown = warnings.sort(compareUrgency).slice(0, maxWarnings)
  const names = await readProjectNames(store.reader, shown)
  return shown.map((warning) => ({ ...warning, ...names.get(warning.projectId ?? '') }))
}

/** The state of each project, in the order of the projects. */
export async function projectHealth(
  { store, clock }: Context,
  projects: readonly { id: string }[],
): Promise<ProjectHealth[]> {
  const time = now(clock)
  const ids = projects.map(({ id }) => id)
  const states = await readProjectKeys(store.reader, ids)
  return ids.map((projectId) => healthOf(projectId, states(projectId), time))
}

function healthOf(projectId: string, project: ProjectKeys, time: string): ProjectHealth {
  const { keys, replacements } = project
  const active = keys.filter((key) => isActive(key, time))
  const expired = keys.filter((key) => isExpired(key, time))
  const warnings = keyWarnings(project, time).sort(compareUrgency)
  return {
    projectId,
    keys: {
      active: active.length,
      compromised: warnings.filter(({ code }) => code === 'key_compromised').length,
      off: keys.length - active.length - expired.length,
      expired: expired.length,
    },
    ...present({ nextExpireTime: earliest(...active.map(({ expireTime }) => expireTime)) }),
    rotations: replacements.filter((rotation) => !hasEnded(rotation, { keys, time })).length,
    warnings: warnings.map(({ code, severity }) => ({ code, severity })),
  }
}
