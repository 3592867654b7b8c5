import { hash } from 'node:crypto'
import { intakeCodes } from '@pubring/intake/codes'
import type { Clock, Store } from '../../kernel/context.ts'
import { now } from '../../kernel/values/times.ts'
import { auditChanges } from './changes.ts'
import type { AuditedKey } from './records.ts'

/** Raise it whenever a check rejects other keys than before (`test/intake/key-policy.test.ts`). */
const revision = 2

/**
 * Identifies the rules that a key passed; under other rules it is examined again. Block lists and
 * comparisons between keys do not count, because every audit repeats them.
 */
export const auditRules = `${revision}.${hash('sha256', JSON.stringify(intakeCodes)).slice(0, 16)}`

const maxUnsaved = 200
/** Milliseconds of examination that an interruption may lose. */
const saveIntervalMs = 1_000

/**
 * Stores which keys passed, many with one change: beside a running server, an audit must not take the
 * database's one writer for every key.
 */
export function createPassRecorder(store: Pick<Store, 'commit'>, clock: Clock) {
  let unsaved: AuditedKey[] = []
  let savedAt = clock.monotonic()

  async function save(): Promise<void> {
    const byProject = Map.groupBy(unsaved, ({ key }) => key.projectId)
    unsaved = []
    savedAt = clock.monotonic()
    const time = now(clock)
    const commits = [...byProject].map(([projectId, passed]) => {
      const kids = passed.map(({ key }) => key.id)
      return store.commit(auditChanges.passAudit, { projectId, kids, rules: auditRules, time })
    })
    await Promise.all(commits)
  }
  return {
    save,
    async add(passed: AuditedKey): Promise<void> {
      unsaved.push(passed)
      const isDue = clock.monotonic() - savedAt >= saveIntervalMs
      if (isDue || unsaved.length >= maxUnsaved) await save()
    },
  }
}
