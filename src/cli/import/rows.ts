import type { KeyImportItem } from '../../../client/src/index.ts'
import { type Algorithm, algorithmNames } from '../../contract/algorithms.ts'
import { type KeyMaterial, materialOf } from '../keys/material.ts'
import type { Refusal, SourceEntry, SourceKey, SourceProject } from './sources/entry.ts'

/** One key of an import, from its place in the source to what became of it. */
export interface ImportRow {
  /** From 1 on, over the whole source. */
  number: number
  project: string
  place: string
  label: string
  outcome: 'created' | 'present' | 'refused' | 'not_sent'
  kid?: string
  errors: Refusal[]
  note?: string
  /** What is sent; absent where it is refused here. */
  item?: KeyImportItem
  /** Milliseconds that the server needs for it, about. */
  cost: number
}

/** How the keys are to be registered. */
export interface RowOptions {
  algorithm: Algorithm | undefined
  namePrefix: string
  /** Whether kids and times are kept; undefined: those of keys that come back home. */
  kids: 'keep' | 'new' | undefined
}

/** The rows of all projects of a source, with what is refused before anything is sent. */
export function rowsOf(
  projects: readonly (SourceProject & { target: string })[],
  options: RowOptions,
): ImportRow[] {
  const rows: ImportRow[] = []
  for (const { entries, target } of projects) {
    const places = new Map<string, string>()
    for (const entry of entries) {
      rows.push(rowOf(entry, { number: rows.length + 1, project: target, places }, options))
    }
  }
  return rows
}

/** Where a row stands, and where the keys before it do, by what they are. */
interface RowPosition {
  number: number
  project: string
  places: Map<string, string>
}

function rowOf(entry: SourceEntry, position: RowPosition, options: RowOptions): ImportRow {
  const { number, project, places } = position
  const label = `${options.namePrefix}${entry.label}`
  const row: ImportRow = {
    number,
    project,
    place: entry.place,
    label,
    outcome: 'not_sent',
    errors: [],
    cost: 2,
    ...(entry.note === undefined ? {} : { note: entry.note }),
  }
  const material = entry.key && materialOf(entry.key.publicKeyPem)
  const refusal = entry.refusal ?? refusalOf(entry, material, places)
  if (refusal !== undefined || entry.key === undefined) {
    return { ...row, outcome: 'refused', errors: refusal === undefined ? [] : [refusal] }
  }
  const item = itemOf(entry.key, label, material, options)
  return { ...row, item, cost: material?.cost ?? row.cost }
}

function refusalOf(
  { key, place }: SourceEntry,
  material: KeyMaterial | undefined,
  places: Map<string, string>,
): Refusal | undefined {
  const named = key?.algorithm
  if (named !== undefined && !isAlgorithm(named)) {
    const detail = `The algorithm must be one of ${algorithmNames.join(', ')}.`
    return { code: 'unsupported_algorithm', detail }
  }
  if (material === undefined) return undefined
  const first = places.get(material.identity)
  if (first !== undefined) {
    return { code: 'duplicate_key', detail: `The same key is in the source before: ${first}.` }
  }
  places.set(material.identity, place)
  return undefined
}

function itemOf(
  key: SourceKey,
  name: string,
  material: KeyMaterial | undefined,
  { algorithm, kids }: RowOptions,
): KeyImportItem {
  const { kid, createTime, updateTime, algorithm: named, ...others } = key
  const kept = kids === 'keep' || (kids === undefined && createTime !== undefined)
  const home = Object.entries({ kid, createTime, updateTime }).filter(([, value]) => value)
  const own = named !== undefined && isAlgorithm(named) ? named : undefined
  return {
    ...others,
    name,
    algorithm: own ?? usual(material, algorithm),
    ...(kept ? Object.fromEntries(home) : {}),
  }
}

/** The wished algorithm for the keys that it fits, for others the usual one of their kind. */
function usual(material: KeyMaterial | undefined, wished: Algorithm | undefined): Algorithm {
  const fitting = material?.algorithms ?? []
  const fits = wished !== undefined && (fitting.length === 0 || fitting.includes(wished))
  return fits ? wished : (fitting[0] ?? 'RSA')
}

function isAlgorithm(name: string): name is Algorithm {
  return algorithmNames.some((algorithm) => algorithm === name)
}
