import { type EventContent, type Members, systemLedgerId } from './chain.ts'
import {
  applyEffect,
  rowMembers,
  type SubjectName,
  type SubjectRows,
  subjectKinds,
  subjectNames,
} from './subjects.ts'

/** The rows that a ledger accounts for. */
export type LedgerRows = { [Name in SubjectName]: SubjectRows[Name][] }

/** A contradiction between a ledger and the tables. */
export interface Difference {
  ledgerId: string
  subject: { type: SubjectName; id: string }
  /** The member that differs; absent if the whole row is missing, or must not be there. */
  member?: string
  /** For the operator: contains the values. */
  detail: string
}

/** What the verified events say of a subject. */
interface SubjectState {
  /** Undefined once it was deleted. */
  members: Members | undefined
  /** The revision of its last event. */
  revision: number
}

/** The subjects of a kind that the events speak of. */
export type SubjectIds = (name: SubjectName) => string[]

/**
 * Folds the events of one ledger into the state that the tables must hold, and compares them. Pure; its
 * memory grows with the subjects of the ledger, not with its events. Long because all of it shares them.
 */
export function createReplay(ledgerId: string) {
  const scope = ledgerId === systemLedgerId ? 'system' : 'project'
  const names = subjectNames.filter((name) => [scope, 'both'].includes(subjectKinds[name].ledger))
  const states = new Map(names.map((name) => [name, new Map<string, SubjectState>()]))

  function compareKind<Name extends SubjectName>(
    name: Name,
    rows: readonly SubjectRows[Name][],
  ): Difference[] {
    const differences: Difference[] = []
    const unseen = new Map(states.get(name))
    for (const row of rows) {
      const id = subjectKinds[name].id(row)
      const subject = { type: name, id }
      for (const difference of compareRow(name, row, unseen.get(id))) {
        differences.push({ ledgerId, subject, ...difference })
      }
      unseen.delete(id)
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
      for (const name of names) {
        for (const effect of subjectKinds[name].effects(event)) {
          const before = states.get(name)?.get(effect.id)?.members ?? {}
          const isDeleted = effect.action === 'delete'
          const members = isDeleted ? undefined : applyEffect(before, effect)
          states.get(name)?.set(effect.id, { members, revision: event.revision })
        }
      }
    },
    idsOf: (name: SubjectName) => [...(states.get(name)?.keys() ?? [])],
    compare: (rows: LedgerRows): Difference[] =>
      names.flatMap((name) => compareKind(name, rows[name])),
  }
}

function compareRow<Name extends SubjectName>(
  name: Name,
  row: SubjectRows[Name],
  state: SubjectState | undefined,
): Pick<Difference, 'member' | 'detail'>[] {
  const { id, isDamaged, mayBeUnrecorded } = subjectKinds[name]
  const subject = `${name} ${id(row)}`
  if (state?.members === undefined) {
    if (state === undefined && mayBeUnrecorded) return []
    const reason =
      state === undefined ? 'no event created it' : `event ${state.revision} deleted it`
    return [{ detail: `${subject}: it has a row, and ${reason}` }]
  }
  const differing = compareMembers(state.members, rowMembers(name, row))
  const differences = differing.map(({ member, detail }) => {
    return { member, detail: `${subject}: ${member}: ${detail}` }
  })
  if (isDamaged?.(row)) {
    const detail = `${subject}: publicKeyPem: the columns of the key contradict each other`
    differences.push({ member: 'publicKeyPem', detail })
  }
  return differences
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
