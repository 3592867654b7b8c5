import type { KeyImportItem } from '../../../client/src/index.ts'
import { type Algorithm, algorithmNames } from '../../contract/algorithms.ts'
import { isAlgorithm } from '../keys/kinds.ts'
import { CommandError } from '../terminal/failures.ts'
import { type KeyMaterial, readMaterial } from './material.ts'
import {
  privateKeyCode,
  type Rejection,
  type SourceEntry,
  type SourceKey,
  type SourceProject,
} from './sources/entry.ts'

/** One key of an import, from its place in the source to its outcome. */
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
  /** Approximate time that the server needs to examine it. */
  costMs: number
}

interface RowOptions {
  /** For the keys that it fits and for which the source names none. */
  algorithm?: Algorithm | undefined
  namePrefix?: string | undefined
  /** Whether to keep kids and times; by default those of keys with a `createTime`. */
  kids?: 'keep' | 'new' | undefined
}

/** The rows for all projects of a source, with what can be rejected before sending anything. */
export function toRows(
  projects: readonly (SourceProject & { target: string })[],
  options: RowOptions,
): ImportRow[] {
  const rows: ImportRow[] = []
  for (const { entries, target: project } of projects) {
    const places = new Map<string, string>()
    for (const entry of entries) {
      rows.push({ number: rows.length + 1, project, ...toRow(entry, places, options) })
    }
  }
  return rows
}

/** `places`: of the project's keys so far, by the hash of their SPKI. */
function toRow(
  entry: SourceEntry,
  places: Map<string, string>,
  options: RowOptions,
): Omit<ImportRow, 'number' | 'project'> {
  const { place, key, note } = entry
  const label = `${options.namePrefix ?? ''}${entry.label}`
  const material = key && readMaterial(key.publicKeyPem)
  const rejection = entry.rejection ?? rejectionOf(entry, material, places)
  const row = {
    place,
    label,
    costMs: material?.costMs ?? 2,
    ...(note === undefined ? {} : { note }),
  }
  if (rejection !== undefined || key === undefined) {
    return { ...row, outcome: 'refused', errors: rejection === undefined ? [] : [rejection] }
  }
  const item = toItem(key, label, material, options)
  return { ...row, outcome: 'not_sent', errors: [], item }
}

function rejectionOf(
  { key, place }: SourceEntry,
  material: KeyMaterial | undefined,
  places: Map<string, string>,
): Rejection | undefined {
  if (key?.algorithm !== undefined && !isAlgorithm(key.algorithm)) {
    const detail = `The algorithm must be one of ${algorithmNames.join(', ')}.`
    return { code: 'unsupported_algorithm', detail }
  }
  if (material === undefined) return undefined
  const first = places.get(material.spkiSha256)
  if (first !== undefined) {
    const detail = `The source has this key twice: here and at ${first}. Remove one of them.`
    return { code: 'duplicate_key', detail }
  }
  places.set(material.spkiSha256, place)
  return undefined
}

function toItem(
  { kid, createTime, updateTime, algorithm: named, ...others }: SourceKey,
  name: string,
  material: KeyMaterial | undefined,
  { algorithm, kids }: RowOptions,
): KeyImportItem {
  const isKept = kids === 'keep' || (kids === undefined && createTime !== undefined)
  const identity = Object.entries({ kid, createTime, updateTime }).filter(([, value]) => value)
  return {
    ...others,
    name,
    algorithm: isAlgorithm(named) ? named : chooseAlgorithm(material, algorithm),
    ...(isKept ? Object.fromEntries(identity) : {}),
  }
}

/** The preferred algorithm for the keys that it fits, for others their usual one. */
function chooseAlgorithm(
  material: KeyMaterial | undefined,
  preferred: Algorithm | undefined,
): Algorithm {
  const fitting = material?.algorithms ?? []
  const fits = preferred !== undefined && (fitting.length === 0 || fitting.includes(preferred))
  return fits ? preferred : (fitting[0] ?? 'RSA')
}

/** The error for a source with a private key, which keeps every other key from being sent. */
export function privateKeyError(rows: readonly ImportRow[]): CommandError | undefined {
  const found = rows.filter(({ errors }) => errors.some(({ code }) => code === privateKeyCode))
  const [first] = found
  if (first === undefined) return undefined
  const others = found.length === 1 ? '' : `, and ${found.length - 1} more`
  const message = `${first.place} is a private key${others}. Nothing was sent.`
  return new CommandError('refused', message, {
    code: privateKeyCode,
    hints: ['Replace it by its public half: openssl pkey -in key.pem -pubout'],
  })
}
