import { PubringError } from '../../errors.ts'
import type { Blocklist } from '../../intake/blocklists/blocklist.ts'
import type { Fault } from '../../intake/types.ts'
import type { Clock } from '../context.ts'
import type { Origin, WeaknessReport } from '../ledger/changes.ts'
import { now } from '../times.ts'
import type { AuditWork } from './pool.ts'
import type {
  AuditedKey,
  AuditListener,
  AuditOptions,
  AuditScope,
  AuditStore,
  AuditSubject,
} from './records.ts'
import { auditRules } from './rules.ts'

export interface AuditSetup {
  store: AuditStore
  clock: Clock
  work: AuditWork
  /** The built-in list with the operator's. */
  blocklist: Blocklist
  listener: AuditListener
}

/** One audit under way. */
export interface Run extends AuditSetup {
  options: AuditOptions
  origin: Origin
}

const pageSize = 200
/** Milliseconds of examining that an interruption may cost. */
const noteInterval = 1_000

/** Every key of the scope, page by page. Throws the signal's reason where it is aborted. */
export async function* keysOf(
  { store, options }: Run,
  scope: AuditScope,
): AsyncGenerator<AuditedKey, undefined> {
  let after: { projectId: string; kid: string } | undefined
  for (;;) {
    const page = await store.auditedKeys(scope, { limit: pageSize, ...(after && { after }) })
    for (const entry of page) {
      options.signal?.throwIfAborted()
      yield entry
    }
    const last = page.at(-1)
    if (last === undefined) return undefined
    after = { projectId: last.key.projectId, kid: last.key.id }
  }
}

export function subjectOf({ key, projectName }: AuditedKey): AuditSubject {
  return { projectId: key.projectId, projectName, kid: key.id }
}

/**
 * Reports what is wrong with one key to its project's ledger and to the listener, if the audit is
 * about that project. A key that was deleted meanwhile is nothing to report.
 */
export async function settle(
  run: Run,
  subject: AuditSubject,
  faults: readonly Fault[],
  { deactivate }: Pick<AuditOptions, 'deactivate'> = run.options,
): Promise<void> {
  const { projectId, kid } = subject
  if ((run.options.projectId ?? projectId) !== projectId) return
  const weaknesses = [...new Set(faults.map(({ code }) => code))]
  const report = await run.store
    .commit({
      type: 'key.report_weakness',
      origin: { ...run.origin, time: now(run.clock) },
      projectId,
      kid,
      weaknesses,
      deactivate,
    })
    .catch(unlessGone)
  if (report === undefined) return
  for (const fault of faults) {
    const { active, deactivated, reported } = report
    const isNew = reported.includes(fault.code)
    run.listener.finding({ ...subject, ...fault, isNew, active, deactivated })
  }
}

function unlessGone(error: unknown): WeaknessReport | undefined {
  const gone = ['key_not_found', 'project_not_found']
  if (error instanceof PubringError && gone.includes(error.code)) return undefined
  throw error
}

/**
 * Remembers the keys that passed, many with one change: an audit beside a server must not ask for the
 * database's one writer at every key.
 */
export function notePasses(run: Run) {
  let passed: AuditedKey[] = []
  let noted = run.clock.monotonic()
  async function flush(): Promise<void> {
    const groups = Map.groupBy(passed, ({ key }) => key.projectId)
    passed = []
    noted = run.clock.monotonic()
    const time = now(run.clock)
    await Promise.all(
      [...groups].map(([projectId, entries]) => {
        const kids = entries.map(({ key }) => key.id)
        return run.store.commit({
          type: 'key.pass_audit',
          projectId,
          kids,
          rules: auditRules,
          time,
        })
      }),
    )
  }
  return {
    flush,
    async add(entry: AuditedKey): Promise<void> {
      passed.push(entry)
      const due = run.clock.monotonic() - noted >= noteInterval
      if (due || passed.length >= pageSize) await flush()
    },
  }
}
