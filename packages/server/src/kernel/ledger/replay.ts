import { type EventContent, type Members, systemLedgerId } from './chain.ts'
import { type AccountedRow, type AnySubject, applyEffect } from './subject.ts'

/** The rows that a ledger accounts for, by the name of their kind. */
export type LedgerRows = ReadonlyMap<string, readonly AccountedRow[]>

/** A contradiction between a ledger and the tables. */
export interface Difference {
  ledgerId: string
  subject: { type: string; id: string }
  /** The member that differs; absent if the whole row is missing, or must not be there. */
  member?: string
  /** For the operator: contains the values. */
  detail: string
}

/** The state of a subject according to the verified events. */
interface SubjectState {
  /** Undefined once it was deleted. */
  members: Members | undefined
  /** The revision of its last event. */
  revision: number
}

/** The subjects of a kind that the events speak of. */
export type SubjectIds = (name: string) => string[]

/**
 * Folds the events of one ledger into the state that the tables must hold, and compares them. Pure; its
 * memory grows with the subjects of the ledger, not with its events. Long because all of it shares them.
 */
export function createReplay(ledgerId: string, subjects: readonly AnySubject[]) {
  const scope = ledgerId === systemLedgerId ? 'system' : 'project'
  const kinds = subjects.filter((kind) => [scope, 'both'].includes(kind.scope))
  const states = new Map(kinds.map(({ name }) => [name, new Map<string, SubjectState>()]))

  function compareKind(kind: AnySubject, rows: readonly AccountedRow[]): Difference[] {
    const { name } = kind
    const differences: Difference[] = []
    const unseen = new Map(states.get(name))
    for (const row of rows) {
      const subject = { type: name, id: row.id }
      for (const difference of compareRow(kind, row, unseen.get(row.id))) {
        differences.push({ ledgerId, subject, ...difference })
      }
      unseen.delete(row.id)
    }
    for (const [id, { members, revision }] of unseen) {
      if (members === undefined) continue
      const detail = `${name} ${id}: its row is missing; it exists since event ${revision} or earlier`
      differences.push({ ledgerId, subject: { type: name, id }, detail })
    }
    return differences
  }
  return {
    /** Applies the next event. */
    apply(event: EventContent): void {
      for (const { name, effects } of kinds) {
        for (const effect of effects(event)) {
          const before = states.get(name)?.get(effect.id)?.members ?? {}
          const isDeleted = effect.action === 'delete'
          const members = isDeleted ? undefined : applyEffect(before, effect)
          states.get(name)?.set(effect.id, { members, revision: event.revision })
        }
      }
    },
    idsOf: (name: string) => [...(states.get(name)?.keys() ?? [])],
    compare: (rows: LedgerRows): Difference[] =>
      kinds.flatMap((kind) => compareKind(kind, rows.get(kind.name) ?? [])),
  }
}

function compareRow(
  { name, mayBeUnrecorded }: AnySubject,
  { id, members, damage }: AccountedRow,
  state: SubjectState | undefined,
): Pick<Difference, 'member' | 'detail'>[] {
  const subject = `${name} ${id}`
  if (state?.members === undefined) {
    if (state === undefined && mayBeUnrecorded) return []
    const reason =
      state === undefined ? 'no event created it' : `event ${state.revision} deleted it`
    return [{ detail: `${subject}: it has a row, and ${reason}` }]
  }
  return [...compareMembers(state.members, members), ...(damage ? [damage] : [])].map(
    ({ member, detail }) => ({ member, detail: `${subject}: ${member}: ${detail}` }),
  )
}

function compareMembers(ledger: Members, table: Members) {
  const members = new Set([...Object.keys(ledger), ...Object.keys(table)])
  return (
    [...members]
      .filter((member) => member !== 'weaknesses' && ledger[member] !== table[member])
      // The digest differs with every other member.
      .filter((member, _index, all) => member !== 'state' || all.length === 1)
      .map((member) => {
        const values = `the ledger says ${text(ledger[member])}, the table ${text(table[member])}`
        const hidden =
          'a column differs of which events hold only this digest, such as a time or a secret'
        return { member, detail: member === 'state' ? hidden : values }
      })
  )
}

function text(value: Members[string]): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
