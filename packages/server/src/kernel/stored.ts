import { projects, projectTable } from './access/stored-projects.ts'
import { eventTable, ledgerTable } from './ledger/stored.ts'
import type { AnySubject } from './ledger/subject.ts'
import type { Table } from './storage/schema.ts'

/** The tables of the kernel and the features. */
export function tablesOf(features: readonly { tables?: readonly Table[] }[]): Table[] {
  const own = [projectTable, ledgerTable, eventTable]
  return [...own, ...features.flatMap(({ tables = [] }) => tables)]
}

/** The kinds of rows that ledgers account for. The events of a project come first. */
export function subjectsOf(
  features: readonly { subjects?: readonly AnySubject[] }[],
): AnySubject[] {
  return [projects, ...features.flatMap(({ subjects = [] }) => subjects)]
}
