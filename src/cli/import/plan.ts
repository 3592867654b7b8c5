import type { JwtKey, JwtKeyUpdate } from '../../../client/src/index.ts'
import { present } from '../../runtime/present.ts'
import { type KeyState, withPatches } from '../keys/last-active.ts'
import { colorsFor, escapeControls, type Terminal } from '../terminal/terminal.ts'
import type { SendableRow } from './rows.ts'
import type { DeclaredState } from './sources/declaration.ts'

/** A declared key. */
type DeclaredRow = SendableRow & { declared: DeclaredState }

/** The changes that make a project match a declaration, in this order. */
export interface Plan {
  add: SendableRow[]
  change: { key: JwtKey; patch: JwtKeyUpdate }[]
  delete: JwtKey[]
  /** Keys that are not in the file and stay. */
  undeclared: JwtKey[]
  /** Declared keys that were registered before and deleted; they are not registered again. */
  withheld: SendableRow[]
}

/** The plan for the declared keys, of which the registered ones have a kid. */
export function createPlan(
  declared: readonly DeclaredRow[],
  existing: readonly JwtKey[],
  { prune, now }: { prune: boolean; now: number },
): Plan {
  const byKid = new Map(existing.map((key) => [key.id, key]))
  const plan: Plan = { add: [], change: [], delete: [], undeclared: [], withheld: [] }
  for (const row of declared) {
    const key = byKid.get(row.kid ?? '')
    if (key === undefined) {
      // A key that is over has nothing to register, and the server would reject it.
      if (!isOver(row.declared.expireTime, now)) plan.add.push(row)
      continue
    }
    const patch = patchFor(row, key, now)
    if (Object.keys(patch).length > 0) plan.change.push({ key, patch })
  }
  const kids = new Set(declared.map(({ kid }) => kid))
  const others = existing.filter(({ id }) => !kids.has(id))
  return prune ? { ...plan, delete: others } : { ...plan, undeclared: others }
}

function isOver(expireTime: string | null | undefined, now: number): boolean {
  return typeof expireTime === 'string' && Date.parse(expireTime) <= now
}

/** Members that the file leaves out stay: a revocation is not undone by the next run. */
function patchFor({ label, declared }: DeclaredRow, key: JwtKey, now: number): JwtKeyUpdate {
  const { active, expireTime = key.expireTime ?? null } = declared
  const isExpired = isOver(expireTime, now)
  const isWanted = active === undefined ? key.active : active && !isExpired
  return {
    ...(label === key.label ? {} : { label }),
    ...(isWanted === key.active ? {} : { active: isWanted }),
    ...(expireTime === (key.expireTime ?? null) ? {} : { expireTime }),
  }
}

export function isEmpty(plan: Plan): boolean {
  return plan.add.length + plan.change.length + plan.delete.length === 0
}

/** Whether the plan deactivates or deletes keys. */
export function removesKeys(plan: Plan): boolean {
  return plan.delete.length > 0 || plan.change.some(({ patch }) => patch.active === false)
}

/** The states of the keys of the project once the plan is carried out. */
export function statesAfter(plan: Plan, existing: readonly JwtKey[]): KeyState[] {
  const removed = new Set(plan.delete.map(({ id }) => id))
  const kept = existing.filter(({ id }) => !removed.has(id))
  const patches = new Map(plan.change.map(({ key, patch }) => [key.id, patch]))
  const added = plan.add.map(({ item: { active = true, expireTime } }) => {
    return { active, ...present({ expireTime }) }
  })
  return [...withPatches(kept, patches), ...added]
}

/** For a person: the lines of a unified diff from the project to the file. */
export function planText(terminal: Terminal, plan: Plan, names: { from: string; to: string }) {
  const { red, green } = colorsFor(terminal)
  const show = (value: unknown) => escapeControls(String(value ?? 'none'))
  const added = plan.add.map(({ label, item: { algorithm, active } }) => {
    return `+ ${show(label)} (${algorithm}${active === false ? ', inactive' : ''})`
  })
  const changed = plan.change.flatMap(({ key, patch }) => [
    `  ${key.id} ${show(key.label)}`,
    ...Object.entries(patch).flatMap(([member, value]) => [
      `-   ${member}: ${show(Reflect.get(key, member))}`,
      `+   ${member}: ${show(value)}`,
    ]),
  ])
  const deleted = plan.delete.map(({ id, label, active }) => {
    return `- ${id} ${show(label)}${active ? ' (active: deactivate, then delete)' : ''}`
  })
  const lines = [`--- ${names.from}`, `+++ ${names.to}`, ...added, ...changed, ...deleted]
  const color = (line: string) =>
    line.startsWith('+') ? green(line) : line.startsWith('-') ? red(line) : line
  return isEmpty(plan) ? '' : lines.map((line) => `${color(line)}\n`).join('')
}

/** For programs. */
export function planDocument({ add, change, delete: removed, undeclared, withheld }: Plan) {
  const reference = ({ id, label }: JwtKey) => ({ kid: id, label })
  return {
    add: add.map(({ label, item: { algorithm, active = true } }) => ({ label, algorithm, active })),
    change: change.map(({ key, patch }) => ({ ...reference(key), patch })),
    delete: removed.map(reference),
    undeclared: undeclared.map(reference),
    withheld: withheld.map(({ label }) => ({ label })),
  }
}
