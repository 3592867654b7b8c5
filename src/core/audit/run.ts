import type { Blocklist } from '../../intake/blocklists/blocklist.ts'
import { base64urlToBigInt, minimalBytes } from '../../intake/encoding/bytes.ts'
import { sha256Hex } from '../../intake/encoding/jwk.ts'
import type { Fault, PublicJwk } from '../../intake/types.ts'
import { newId } from '../ids.ts'
import type { KeyRecord } from '../records.ts'
import { now } from '../times.ts'
import { findReused, findShared, type StoredModulus } from './moduli.ts'
import type { AuditedKey, AuditOptions, AuditScope, AuditSubject, AuditSummary } from './records.ts'
import { auditRules } from './rules.ts'
import { type AuditSetup, keysOf, notePasses, type Run, settle, subjectOf } from './session.ts'

/**
 * Audits the keys of the registry: the block lists, moduli and primes in common across all projects,
 * today's intake rules, and the searches that are too slow for intake. What it finds becomes an event
 * in the project's ledger, once, and with `deactivate` switches the key off in the same change. Keys
 * that pass are remembered, so that an audit that was interrupted goes on where it was.
 */
export async function audit(setup: AuditSetup, options: AuditOptions): Promise<AuditSummary> {
  const { clock, store } = setup
  const actor = { name: 'pubring audit' }
  const run: Run = { ...setup, options, origin: { actor, requestId: newId(), time: now(clock) } }
  const scope = options.projectId === undefined ? {} : { projectId: options.projectId }
  const tally = { examined: 0 }
  const keys = await store.countAuditedKeys(scope)
  try {
    await compareAll(run, await readAll(run))
    await examineAll(run, options.again ? scope : { ...scope, withoutPassOf: auditRules }, tally)
  } catch (error) {
    if (options.signal?.aborted !== true) throw error
  }
  const complete = options.signal?.aborted !== true
  return { rules: auditRules, keys, ...tally, complete }
}

/** Asks the block lists about every key, and gathers the moduli of all projects. */
async function readAll(run: Run): Promise<StoredModulus[]> {
  const moduli: StoredModulus[] = []
  const total = await run.store.countAuditedKeys({})
  let read = 0
  for await (const entry of keysOf(run, {})) {
    const { jwk, spkiSha256, materialSha256 } = entry.key
    const subject = subjectOf(entry)
    if (jwk.kty === 'RSA') {
      moduli.push({ subject, n: base64urlToBigInt(jwk.n), spkiSha256, materialSha256 })
    }
    const fault = compromise(entry, run.blocklist)
    if (fault !== undefined) await settle(run, subject, [fault])
    read += 1
    run.listener.progress('reading', read, total)
  }
  return moduli
}

function compromise({ key, wasExposed }: AuditedKey, blocklist: Blocklist): Fault | undefined {
  const code = 'key_known_compromised'
  if (wasExposed) {
    return { code, detail: 'Its private half was once submitted here. Make a new pair.' }
  }
  if (!hashesOf(key).some((hash) => blocklist.has(hash))) return undefined
  return { code, detail: 'Its private half is published: anybody can sign. Make a new pair.' }
}

/** Block lists hash keys that are no numbers without their leading zero octets, too. */
function hashesOf({ materialSha256, jwk }: KeyRecord): string[] {
  const octets = octetsOf(jwk)
  if (octets === undefined) return [materialSha256]
  return [materialSha256, sha256Hex(minimalBytes(base64urlToBigInt(octets)))]
}

function octetsOf(jwk: PublicJwk): string | undefined {
  if (jwk.kty === 'OKP') return jwk.x
  return jwk.kty === 'AKP' ? jwk.pub : undefined
}

/** Compares all moduli of the registry with one another. */
async function compareAll(run: Run, moduli: readonly StoredModulus[]): Promise<void> {
  run.listener.progress('comparing', 0, moduli.length)
  for (const { subject, fault } of findReused(moduli)) {
    // Anybody can register the modulus of somebody else, which is public, with another exponent.
    await settle(run, subject, [fault], { deactivate: false })
  }
  for (const { subject, fault } of await findShared(moduli, run.work.sharedPrimes)) {
    await settle(run, subject, [fault])
  }
  run.listener.progress('comparing', moduli.length, moduli.length)
}

/** The slow checks, as many keys at once as there are threads. */
async function examineAll(run: Run, scope: AuditScope, tally: { examined: number }): Promise<void> {
  const total = await run.store.countAuditedKeys(scope)
  const keys = keysOf(run, scope)
  const passes = notePasses(run)
  run.listener.progress('examining', 0, total)
  async function lane(): Promise<void> {
    for (let next = await keys.next(); next.done !== true; next = await keys.next()) {
      if (await examineOne(run, next.value)) await passes.add(next.value)
      tally.examined += 1
      run.listener.progress('examining', tally.examined, total)
    }
  }
  const lanes = Array.from({ length: run.work.lanes }, lane)
  try {
    await Promise.all(lanes)
  } finally {
    await keys.return(undefined)
    await Promise.allSettled(lanes)
    await passes.flush()
  }
}

/** Whether the key passed; where it did not, that has been reported. */
async function examineOne(run: Run, entry: AuditedKey): Promise<boolean> {
  const { publicKeyPem, algorithm } = entry.key
  const subject = subjectOf(entry)
  const faults = await run.work.examine({ publicKeyPem, algorithm }).catch((error: unknown) => {
    run.options.signal?.throwIfAborted()
    fail(run, subject, error)
  })
  if (faults === undefined) return false
  if (faults.length > 0) await settle(run, subject, faults)
  return faults.length === 0
}

/** One key that cannot be examined does not end the audit of the others. */
function fail(run: Run, subject: AuditSubject, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  run.listener.failure({ ...subject, reason })
}
