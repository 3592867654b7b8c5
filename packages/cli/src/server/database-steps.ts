import type { DatabaseReport } from '@pubring/server/kernel/storage/open'
import type { Step } from '../terminal/table.ts'
import { failedStep } from './machine-checks.ts'

/** A standby this far behind, or a clock this far off, is reported. */
const maxLagBytes = 16 * 1024 * 1024
const maxClockSkewMs = 1_000

const schemas: Record<NonNullable<DatabaseReport['schema']>, string> = {
  none: 'empty: pubring serve creates the schema',
  older: 'the schema of an older release: pubring serve updates it',
  current: 'the schema of this release',
  newer: 'the schema of a newer release, beside which this one can run',
}

/** The meaning of the database's state for a server, with advice. */
export function databaseSteps({ engine, hosts, schema, keys, problem }: DatabaseReport): Step[] {
  const primary = hosts.find(({ role }) => role === 'primary')
  const steps = hosts.map((host) => hostStep(host, primary))
  const advice = primaryAdvice(hosts)
  if (advice !== undefined) steps.push(failedStep('primary', advice))
  if (primary !== undefined) steps.push(...lackSteps(primary, schema))
  for (const { host, clockSkewMs = 0 } of hosts) {
    if (Math.abs(clockSkewMs) <= maxClockSkewMs) continue
    const detail = `${host} is ${clockSkewMs} ms ahead of this machine: synchronize both with NTP`
    steps.push({ step: 'clock', outcome: 'warned', detail })
  }
  if (problem !== undefined) steps.push(failedStep('database', problem))
  if (schema !== undefined) {
    steps.unshift({ step: 'database', outcome: 'passed', detail: `${engine}, ${schemas[schema]}` })
  }
  if (keys === undefined) return steps
  const detail = `${keys.active} active, ${keys.inactive} inactive or expired`
  return [...steps, { step: 'keys', outcome: 'passed', detail }]
}

type Host = DatabaseReport['hosts'][number]

/** Advises to promote a standby only if the primary is away, and not if it could not be asked. */
function primaryAdvice(hosts: readonly Host[]): string | undefined {
  const roles = hosts.map(({ role }) => role)
  if (roles.filter((role) => role === 'primary').length > 1) {
    return 'more than one host accepts changes: stop the one that was replaced'
  }
  if (roles.includes('primary') || !roles.includes('standby')) return undefined
  if (roles.includes('read-only')) return undefined
  const isAway = hosts.every(({ failure }) => failure === undefined || failure.kind === 'away')
  return isAway
    ? 'no host accepts changes: start the primary, or promote a standby'
    : 'only standbys answer: correct what is wrong with the other hosts first'
}

/** Steps for the privileges and settings that the primary, and the user there, lack for this schema. */
function lackSteps({ host, lacks = {} }: Host, schema: DatabaseReport['schema']): Step[] {
  const steps: Step[] = []
  const isPending = schema === 'none' || schema === 'older'
  if (isPending && lacks.create !== undefined) {
    steps.push(failedStep('rights', `its user may not create tables: ${lacks.create}`))
  }
  if (schema === 'older' && lacks.migrate !== undefined) {
    steps.push(failedStep('rights', `its user does not own the tables: ${lacks.migrate}`))
  }
  if (lacks.use !== undefined) {
    steps.push(failedStep('rights', `its user may not write to the tables: ${lacks.use}`))
  }
  if (lacks.settings !== undefined) {
    const detail = `${host} has ${lacks.settings} off: changes can be lost with the power, so switch it on`
    steps.push({ step: 'durability', outcome: 'warned', detail })
  }
  return steps
}

function hostStep(
  { host, role, failure, position = Number.NaN, connections = 0, maxConnections = 1 }: Host,
  primary: Host | undefined,
): Step {
  if (role === 'unavailable') {
    const outcome = primary === undefined ? 'failed' : 'warned'
    return { step: 'host', outcome, detail: `${host} ${failure?.text}` }
  }
  if (role === 'read-only') {
    return failedStep('primary', `${host} is read-only: free its disk, or end the maintenance`)
  }
  if (role === 'primary') {
    const detail = `${host}, ${connections} of ${maxConnections} connections in use`
    if (connections < 0.9 * maxConnections) return { step: 'primary', outcome: 'passed', detail }
    const advice = 'lower pool_size or raise max_connections'
    return { step: 'primary', outcome: 'warned', detail: `${detail}: ${advice}` }
  }
  const lag = Math.max(0, (primary?.position ?? Number.NaN) - position)
  const detail = Number.isNaN(lag) ? host : `${host}, ${lag} bytes behind the primary`
  return { step: 'standby', outcome: lag > maxLagBytes ? 'warned' : 'passed', detail }
}
