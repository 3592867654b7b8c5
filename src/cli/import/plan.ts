import type { JwtKey, JwtKeyUpdate } from '../../../client/src/index.ts'
import { type KeyState, withPatches } from '../keys/last-active.ts'
import { escapeControls } from '../terminal/output.ts'
import type { SendableRow } from './send.ts'

/** The changes that make a project match a declaration, in this order. */
export interface Plan {
  add: SendableRow[]
  change: { key: JwtKey; patch: JwtKeyUpdate }[]
  delete: JwtKey[]
  /** Keys that are not in the file and stay. */
  undeclared: JwtKey[]
}

/** The plan for the declared keys, of which the registered ones have a kid. */
export function createPlan(
  declared: readonly SendableRow[],
  existing: readonly JwtKey[],
  { prune, now }: { prune: boolean; now: number },
): Plan {
  const byKid = new Map(existing.map((key) => [key.id, key]))
  const plan: Plan = { add: [], change: [], delete: [], undeclared: [] }
  for (const row of declared) {
    const key = byKid.get(row.kid ?? '')
    if (key === undefined) {
      plan.add.push(row)
      continue
    }
    const patch = patchFor(row, key, now)
    if (Object.keys(patch).length > 0) plan.change.push({ key, patch })
  }
  const kids = new Set(declared.map(({ kid }) => kid))
  const others = existing.filter(({ id }) => !kids.has(id))
  return prune ? { ...plan, delete: others } : { ...plan, undeclared: others }
}

function patchFor(row: SendableRow, key: JwtKey, now: number): JwtKeyUpdate {
  const active = isActive(row, now)
  const { expireTime = null } = row.item
  return {
    ...(row.label === key.label ? {} : { label: row.label }),
    ...(active === key.active ? {} : { active }),
    ...(expireTime === (key.expireTime ?? null) ? {} : { expireTime }),
  }
}

function isActive({ item: { active, expireTime } }: SendableRow, now: number): boolean {
  return active !== false && (expireTime === undefined || Date.parse(expireTime) > now)
}

export function isEmpty(plan: Plan): boolean {
  return plan.add.length + plan.change.length + plan.delete.length === 0
}

/** Whether the plan deactivates or deletes keys. */
export function removesKeys(plan: Plan): boolean {
  return plan.delete.length > 0 || plan.change.some(({ patch }) => patch.active === false)
}

/** The states of the keys of the project once the plan is carried out. */
export function statesAfter(plan: Plan, existing: readonly JwtKey[], now: number): KeyState[] {
  const removed = new Set(plan.delete.map(({ id }) => id))
  const kept = existing.filter(({ id }) => !removed.has(id))
  const patches = new Map(plan.change.map(({ key, patch }) => [key.id, patch]))
  const added = plan.add.map((row) => {
    const { expireTime } = row.item
    return { active: isActive(row, now), ...(expireTime === undefined ? {} : { expireTime }) }
  })
  return [...withPatches(kept, patches), ...added]
}

/** For a person: one line per key. */
export function planText(plan: Plan): string {
  const lines = [
    ...plan.add.map(({ label, item: { algorithm, active } }) => {
      return `+ ${escapeControls(label)} (${algorithm}${active === false ? ', inactive' : ''})`
    }),
    ...plan.change.map(({ key, patch }) => {
      return `~ ${key.id} ${escapeControls(key.label)}: ${describePatch(key, patch)}`
    }),
    ...plan.delete.map(({ id, label, active }) => {
      return `- ${id} ${escapeControls(label)}${active ? ' (active: deactivate, then delete)' : ''}`
    }),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function describePatch(key: JwtKey, patch: JwtKeyUpdate): string {
  const show = (value: unknown) => escapeControls(String(value ?? 'none'))
  return Object.entries(patch)
    .map(([member, value]) => `${member} ${show(Reflect.get(key, member))} → ${show(value)}`)
    .join(', ')
}

/** For programs. */
export function planDocument({ add, change, delete: removed, undeclared }: Plan) {
  const reference = ({ id, label }: JwtKey) => ({ kid: id, name: label })
  return {
    add: add.map(({ label: name, item: { algorithm, active } }) => ({ name, algorithm, active })),
    change: change.map(({ key, patch }) => ({ ...reference(key), patch })),
    delete: removed.map(reference),
    undeclared: undeclared.map(reference),
  }
}
