import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Fault } from '@pubring/intake'
import type { Blocklist } from '@pubring/intake/blocklist'
import { intakeCodes } from '@pubring/intake/codes'
import { base64urlToBigInt, minimalBytes, sha256Hex } from '@pubring/intake/encoding'
import type { SharedPrime } from '@pubring/intake/shared-primes'
import { Piscina } from 'piscina'
import type { Store } from '../../kernel/context.ts'
import { newId } from '../../kernel/values/ids.ts'
import { now } from '../../kernel/values/times.ts'
import type { Clock } from '../../runtime/clock.ts'
import { present } from '../../runtime/present.ts'
import { siblingModule } from '../../runtime/threads.ts'
import { reportWeaknesses } from '../keys/exposure/incidents.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { auditChanges } from './changes.ts'
import { findReusedModuli, findWeakModuli, type StoredModulus } from './moduli.ts'
import { countAuditedKeys, readAuditedKeys } from './reads.ts'
import type {
  AuditedKey,
  AuditListener,
  AuditOptions,
  AuditScope,
  AuditSubject,
  AuditSummary,
} from './records.ts'
import type { KeyToExamine } from './worker.ts'

interface AuditSetup {
  store: Pick<Store, 'commit' | 'reader'>
  clock: Clock
  pool: AuditPool
  /** The built-in list and the operator's. */
  blocklist: Blocklist
  listener: AuditListener
}

interface Audit extends AuditSetup {
  options: AuditOptions
  requestId: string
}

const pageSize = 200

/**
 * Audits the registry: block lists, moduli and primes that keys of any projects share, the current
 * intake rules, and searches that are too slow for intake. Writes each finding to the project's
 * ledger once; with `deactivate`, the same change deactivates the key. Stores which keys passed, so
 * that the next audit continues where an interrupted one stopped.
 */
export async function runAudit(setup: AuditSetup, options: AuditOptions): Promise<AuditSummary> {
  const audit: Audit = { ...setup, options, requestId: newId() }
  const scope = present({ projectId: options.projectId })
  const progress = { examined: 0 }
  const keys = await countAuditedKeys(setup.store.reader, scope)
  try {
    await compareModuli(audit, await readKeys(audit))
    const toExamine = options.again ? scope : { ...scope, withoutPassOf: auditRules }
    await examineKeys(audit, toExamine, progress)
  } catch (error) {
    if (options.signal?.aborted !== true) throw error
  }
  const complete = options.signal?.aborted !== true
  return { rules: auditRules, keys, ...progress, complete }
}

/** Checks every key against the block lists, and returns the RSA moduli of all projects. */
async function readKeys(audit: Audit): Promise<StoredModulus[]> {
  const { store, blocklist, listener } = audit
  const moduli: StoredModulus[] = []
  const total = await countAuditedKeys(store.reader, {})
  let read = 0
  for await (const audited of auditedKeys(audit, {})) {
    const { jwk, spkiSha256, materialSha256 } = audited.key
    const subject = subjectOf(audited)
    if (jwk.kty === 'RSA') {
      moduli.push({ subject, n: base64urlToBigInt(jwk.n), spkiSha256, materialSha256 })
    }
    const fault = findCompromise(audited, blocklist)
    if (fault !== undefined) await report(audit, subject, [fault])
    read += 1
    listener.progress('reading', read, total)
  }
  return moduli
}

function findCompromise({ key, wasExposed }: AuditedKey, blocklist: Blocklist): Fault | undefined {
  const code = 'key_known_compromised'
  if (wasExposed) {
    return { code, detail: 'Its private key was submitted here. Generate a new pair.' }
  }
  if (!blocklistHashes(key).some((hash) => blocklist.has(hash))) return undefined
  return {
    code,
    detail: 'Its private key is public: anyone can sign with it. Generate a new pair.',
  }
}

/** Block lists also hash Edwards and ML-DSA keys without their leading zero bytes. */
function blocklistHashes({ materialSha256, jwk }: KeyRecord): string[] {
  const bytes = jwk.kty === 'OKP' ? jwk.x : jwk.kty === 'AKP' ? jwk.pub : undefined
  if (bytes === undefined) return [materialSha256]
  return [materialSha256, sha256Hex(minimalBytes(base64urlToBigInt(bytes)))]
}

async function compareModuli(audit: Audit, moduli: readonly StoredModulus[]): Promise<void> {
  const { pool, listener } = audit
  listener.progress('comparing', 0, moduli.length)
  for (const { subject, fault } of findReusedModuli(moduli)) {
    // Never deactivated: anyone can register the public modulus of another key with a new exponent.
    await report(audit, subject, [fault], false)
  }
  for (const { subject, fault } of await findWeakModuli(moduli, pool.sharedPrimes)) {
    await report(audit, subject, [fault])
  }
  listener.progress('comparing', moduli.length, moduli.length)
}

/** Runs the slow checks on as many keys at once as there are threads. */
async function examineKeys(
  audit: Audit,
  scope: AuditScope,
  progress: { examined: number },
): Promise<void> {
  const { store, clock, pool, listener } = audit
  const total = await countAuditedKeys(store.reader, scope)
  const keys = auditedKeys(audit, scope)
  const passes = createPassRecorder(store, clock)
  listener.progress('examining', 0, total)
  async function examineNext(): Promise<void> {
    for (let next = await keys.next(); next.done !== true; next = await keys.next()) {
      if (await passesExamination(audit, next.value)) await passes.add(next.value)
      progress.examined += 1
      listener.progress('examining', progress.examined, total)
    }
  }
  const loops = Array.from({ length: pool.threads }, examineNext)
  try {
    await Promise.all(loops)
  } finally {
    await keys.return(undefined)
    await Promise.allSettled(loops)
    await passes.save()
  }
}

/** Reports what keeps the key from passing. A key that cannot be examined does not end the audit. */
async function passesExamination(audit: Audit, audited: AuditedKey): Promise<boolean> {
  const { publicKeyPem, algorithm, jwk } = audited.key
  const subject = subjectOf(audited)
  const faults = await audit.pool
    .examine({ publicKeyPem, algorithm, jwk })
    .catch((error: unknown) => {
      audit.options.signal?.throwIfAborted()
      const reason = error instanceof Error ? error.message : String(error)
      audit.listener.failure({ ...subject, reason })
      return undefined
    })
  if (faults === undefined) return false
  if (faults.length > 0) await report(audit, subject, faults)
  return faults.length === 0
}

/** Every key of the scope, page by page. Throws the signal's reason once it is aborted. */
async function* auditedKeys(
  { store, options }: Audit,
  scope: AuditScope,
): AsyncGenerator<AuditedKey, undefined> {
  let after: { projectId: string; kid: string } | undefined
  for (;;) {
    const next = { limit: pageSize, ...present({ after }) }
    const page = await readAuditedKeys(store.reader, scope, next)
    for (const audited of page) {
      options.signal?.throwIfAborted()
      yield audited
    }
    const last = page.at(-1)
    if (last === undefined) return undefined
    after = { projectId: last.key.projectId, kid: last.key.id }
  }
}

function subjectOf({ key, projectName }: AuditedKey): AuditSubject {
  return { projectId: key.projectId, projectName, kid: key.id }
}

/**
 * Reports the faults of a key to its project's ledger and to the listener. Skips keys of projects
 * that are not audited, and keys deleted meanwhile.
 */
async function report(
  { store, clock, options, requestId, listener }: Audit,
  subject: AuditSubject,
  faults: readonly Fault[],
  deactivate = options.deactivate,
): Promise<void> {
  const { projectId, kid } = subject
  if ((options.projectId ?? projectId) !== projectId) return
  const origin = { actor: { name: 'pubring audit' }, requestId, time: now(clock) }
  const weaknesses = [...new Set(faults.map(({ code }) => code))]
  const result = await reportWeaknesses(store, { origin, projectId, kid, weaknesses, deactivate })
  if (result === undefined) return
  const { active, deactivated, reported } = result
  for (const fault of faults) {
    const isNew = reported.includes(fault.code)
    listener.finding({ ...subject, ...fault, isNew, active, deactivated })
  }
}

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
function createPassRecorder(store: Pick<Store, 'commit'>, clock: Clock) {
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

type AuditPool = ReturnType<typeof createAuditPool>

/**
 * Worker threads for the computations of an audit, which leave one processor to other programs.
 * `signal` aborts computations that are under way.
 */
export function createAuditPool(signal?: AbortSignal) {
  const threads = Math.max(1, availableParallelism() - 1)
  const source = siblingModule(import.meta.url, 'worker')
  const options = { filename: source.href, minThreads: 0 }
  const examiners = new Piscina<KeyToExamine, Fault[]>({
    ...options,
    name: 'examineSlowly',
    maxThreads: threads,
  })
  const comparer = new Piscina<readonly bigint[], SharedPrime[]>({
    ...options,
    name: 'sharedPrimes',
    maxThreads: 1,
  })
  const abortable = present({ signal })
  return {
    /** Keys that can be examined at the same time. */
    threads,
    /** `examineSlowly` in a thread. Rejects if the examination failed or was aborted. */
    examine: (key: KeyToExamine) => examiners.run(key, abortable),
    /** `sharedPrimes` in a thread. */
    sharedPrimes: (moduli: readonly bigint[]) => comparer.run(moduli, abortable),
    async close(): Promise<void> {
      await Promise.all([examiners.destroy(), comparer.destroy()])
    },
  }
}
