import type { KeyImportItem } from '@pubring/client'
import { examineKey, identifyKey } from '@pubring/intake'
import { type Algorithm, algorithmNames, isAlgorithm } from '@pubring/intake/algorithms'
import { createBlocklist } from '@pubring/intake/blocklist'
import { maxTextLength } from '@pubring/intake/encoding'
import { present } from '@pubring/server/runtime/present'
import { CommandError } from '../terminal/failures.ts'
import { privateKeyCode, type Rejection, type SourceEntry, type SourceKey } from './entry.ts'

export interface ImportRow {
  /** From 1, over the whole source. */
  number: number
  project: string
  place: string
  label: string
  outcome: 'created' | 'present' | 'refused' | 'not_sent'
  kid?: string
  errors: Rejection[]
  note?: string
  /** The request for this key; absent if it is rejected before sending. */
  item?: KeyImportItem
  /** Equal for equal keys; absent if this machine cannot read the key. */
  spkiSha256?: string | undefined
}

export type SendableRow = ImportRow & { item: KeyImportItem }

export function isSendable(row: ImportRow): row is SendableRow {
  return row.item !== undefined && row.errors.length === 0 && row.outcome !== 'present'
}

interface RowOptions {
  /** Absent: the keys go to the projects that the entries name. */
  project?: string | undefined
  /** For the keys that it fits and for which the source names none. */
  algorithm?: Algorithm | undefined
  /** Whether keys of an export keep their ids and times; without it, their ids become published kids. */
  keepsIds?: boolean
}

/** The rows for the entries of a source, with what can be rejected before sending anything. */
export function toRows(entries: readonly SourceEntry[], options: RowOptions): ImportRow[] {
  const places = new Map<string, string>()
  return entries.map((entry, index) => {
    const { place, label } = entry
    const project = options.project ?? entry.project ?? ''
    const source = { number: index + 1, project, place, label }
    if ('rejection' in entry) return { ...source, outcome: 'refused', errors: [entry.rejection] }
    const { key, note } = entry
    const row = { ...source, ...present({ note }) }
    const material = identifyKey(key.publicKeyPem)
    const identity = material && `${project} ${material.spkiSha256}`
    const rejection =
      lengthFault([label, ...Object.values(key)]) ??
      rejectionOf(key, identity && places.get(identity))
    if (rejection !== undefined) return { ...row, outcome: 'refused', errors: [rejection] }
    if (identity !== undefined) places.set(identity, place)
    return {
      ...row,
      outcome: 'not_sent',
      errors: [],
      item: toItem(key, label, material, options),
      spkiSha256: material?.spkiSha256,
    }
  })
}

/** What is longer was searched only for the plainest marks of a private key, so it is not sent. */
function lengthFault(values: readonly unknown[]): Rejection | undefined {
  if (values.every((value) => String(value).length <= maxTextLength)) return undefined
  const detail = `The key or its label has more than ${maxTextLength} characters: provide only the public key.`
  return { code: 'key_too_large', detail }
}

/** `twin`: the place of the same key earlier in the source. */
function rejectionOf({ algorithm }: SourceKey, twin: string | undefined): Rejection | undefined {
  if (algorithm !== undefined && !isAlgorithm(algorithm)) {
    const detail = `The algorithm must be one of ${algorithmNames.join(', ')}.`
    return { code: 'unsupported_algorithm', detail }
  }
  if (twin === undefined) return undefined
  const detail = `The source has this key twice: here and at ${twin}. Remove one of them.`
  return { code: 'duplicate_key', detail }
}

function toItem(
  { id, publishedKid, createTime, updateTime, algorithm: named, ...others }: SourceKey,
  name: string,
  material: ReturnType<typeof identifyKey>,
  { algorithm, keepsIds = false }: RowOptions,
): KeyImportItem {
  const kids = keepsIds
    ? { kid: id, createTime, updateTime, publishedKid }
    : { publishedKid: publishedKid ?? id }
  return {
    ...others,
    ...present(kids),
    name,
    algorithm: isAlgorithm(named) ? named : chooseAlgorithm(material, algorithm),
  }
}

/** The preferred algorithm for the keys that it fits, for others their usual one. */
function chooseAlgorithm(
  material: ReturnType<typeof identifyKey>,
  preferred: Algorithm | undefined,
): Algorithm {
  const fitting = material?.algorithms ?? []
  const fits = preferred !== undefined && (fitting.length === 0 || fitting.includes(preferred))
  return fits ? preferred : (fitting[0] ?? 'RSA')
}

/** Checks the keys by the server's rules, without a server, and takes them out of those to send. */
export function checkRows(rows: readonly ImportRow[]): void {
  const blocklist = createBlocklist()
  for (const row of rows.filter(isSendable)) {
    const verdict = examineKey(row.item.publicKeyPem, row.item.algorithm, blocklist)
    row.outcome = verdict.ok ? 'created' : 'refused'
    if (!verdict.ok)
      row.errors.push(...verdict.faults.map(({ code, detail }) => ({ code, detail })))
    Reflect.deleteProperty(row, 'item')
  }
}

/** The error for a source with a private key, which keeps every other key from being sent. */
export function privateKeyError(entries: readonly SourceEntry[]): CommandError | undefined {
  const found = entries.filter(
    (entry) => 'rejection' in entry && entry.rejection.code === privateKeyCode,
  )
  const [first] = found
  if (first === undefined) return undefined
  const others = found.length === 1 ? '' : `, and ${found.length - 1} more`
  const message = `${first.place} holds a private key${others}. Nothing was sent.`
  return new CommandError('refused', message, {
    code: privateKeyCode,
    hints: [
      'Replace it with its public half. To see the command that prints it: pubring key check FILE',
    ],
  })
}
