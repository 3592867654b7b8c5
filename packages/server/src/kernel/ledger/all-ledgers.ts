import { type EventContent, systemLedgerId } from './chain.ts'
import {
  type Difference,
  isWhole,
  type LedgerEntry,
  type LedgerReads,
  type LedgerVerdict,
  pageSize,
  verifyLedger,
} from './verification.ts'

/**
 * Ledgers verified at once: one is hashed while the database reads others. Each uses a connection, and
 * waits for it only as long as a request would.
 */
const maxConcurrent = 4

/** Readings of a project whose name seems to differ between its ledger and the system's. */
const maxAttempts = 5

/**
 * Verifies every ledger, including those of deleted projects: the system ledger first, then by id.
 * A ledger that has no head and no event is broken if the system ledger records its creation. The
 * names of projects, which both ledgers record, are compared too. Long because all verifications share
 * those names.
 */
export async function* verifyLedgers(reads: LedgerReads): AsyncGenerator<LedgerVerdict> {
  const names = new Map<string, string | undefined>()
  const unseen = new Set<string>()
  const noteProject = (event: EventContent) => {
    const { type, subject } = event
    if (type === 'ledger.opened') unseen.add(subject.id)
    if (!type.startsWith('project.')) return
    if (!names.has(subject.id)) unseen.add(subject.id)
    names.set(subject.id, nameAfter(names.get(subject.id), event))
  }
  const system = await verifyLedger(reads, systemLedgerId, noteProject)
  yield system
  let systemRevision = system.events

  /** Reads both ledgers again if they differ: the project may have been changed in between. */
  async function verifyProject(id: string): Promise<LedgerVerdict> {
    for (let attempt = 1; ; attempt += 1) {
      let name: string | undefined
      const verdict = await verifyLedger(reads, id, (event) => {
        name = nameAfter(name, event)
      })
      if (!isWhole(verdict) || !isWhole(system) || names.get(id) === name) return verdict
      if (attempt === maxAttempts) return withNames(verdict, names.get(id), name)
      await readNewerNames()
    }
  }
  async function readNewerNames(): Promise<void> {
    let entries: LedgerEntry[]
    do {
      const page = { after: systemRevision, limit: pageSize }
      entries = await reads.ledgerEntries(systemLedgerId, page)
      for (const { content } of entries) {
        if (content === undefined) return
        noteProject(content)
        // Verifications that run at once may read the same page.
        systemRevision = Math.max(systemRevision, content.revision)
      }
    } while (entries.length === pageSize)
  }
  let after = ''
  let ids: string[]
  do {
    ids = await reads.ledgerIds({ after, limit: pageSize })
    for (const id of ids) unseen.delete(id)
    yield* verifyEach(ids, verifyProject)
    after = ids.at(-1) ?? after
  } while (ids.length === pageSize)
  const headless = await reads.headlessLedgerIds()
  yield* verifyEach([...new Set([...headless, ...unseen])], verifyProject)
  yield* await reads.verifyTables()
}

/** The name of a project after an event, by what it was before; undefined if there is no project. */
function nameAfter(name: string | undefined, { type, changes }: EventContent) {
  if (type === 'project.deleted') return undefined
  return type.startsWith('project.') ? changes?.name?.to?.toString() : name
}

function withNames(
  verdict: LedgerVerdict,
  inSystem: string | undefined,
  own: string | undefined,
): LedgerVerdict {
  const [first, second] = [inSystem, own].map((name) => name ?? 'that it does not exist')
  const { ledgerId } = verdict
  const difference: Difference = {
    ledgerId,
    subject: { type: 'project', id: ledgerId },
    member: 'name',
    detail: `project ${ledgerId}: name: the system ledger says ${first}, its own ledger ${second}`,
  }
  return { ...verdict, differences: [...verdict.differences, difference] }
}

/** Several at once, in their order; without the system ledger. */
async function* verifyEach(
  ids: readonly string[],
  verify: (id: string) => Promise<LedgerVerdict>,
): AsyncGenerator<LedgerVerdict> {
  const running: Promise<LedgerVerdict>[] = []
  for (const id of ids.filter((id) => id !== systemLedgerId)) {
    const verdict = verify(id)
    // Its turn to be awaited comes later.
    verdict.catch(() => undefined)
    running.push(verdict)
    if (running.length >= maxConcurrent) yield* running.splice(0, 1)
  }
  yield* running
}
