import type { JwtKey, JwtKeyUpdate } from '../../../client/src/index.ts'
import { escapeControls } from '../terminal/output.ts'
import type { DeclaredKey } from './sources/declaration.ts'

/** What a key becomes. */
interface Change {
  key: JwtKey
  patch: JwtKeyUpdate
}

/** What is to be done, in this order. */
export interface Plan {
  add: DeclaredKey[]
  change: Change[]
  delete: JwtKey[]
  /** Keys that the file does not have and that stay. */
  undeclared: JwtKey[]
}

/**
 * The plan that makes `existing` what is declared. `kids` are those of the declared keys, in their
 * order, where they are registered already.
 */
export function planOf(
  declared: readonly DeclaredKey[],
  kids: readonly (string | undefined)[],
  existing: readonly JwtKey[],
  { prune, now }: { prune: boolean; now: number },
): Plan {
  const byKid = new Map(existing.map((key) => [key.id, key]))
  const plan: Plan = { add: [], change: [], delete: [], undeclared: [] }
  declared.forEach((wanted, index) => {
    const key = byKid.get(kids[index] ?? '')
    if (key === undefined) plan.add.push(wanted)
    else {
      const patch = patchOf(wanted, key, now)
      if (Object.keys(patch).length > 0) plan.change.push({ key, patch })
    }
  })
  const others = existing.filter(({ id }) => !kids.includes(id))
  return prune ? { ...plan, delete: others } : { ...plan, undeclared: others }
}

function patchOf(wanted: DeclaredKey, key: JwtKey, now: number): JwtKeyUpdate {
  const active = isActive(wanted, now)
  const expireTime = wanted.expireTime ?? null
  return {
    ...(wanted.name === key.label ? {} : { label: wanted.name }),
    ...(active === key.active ? {} : { active }),
    ...(expireTime === (key.expireTime ?? null) ? {} : { expireTime }),
  }
}

function isActive({ active, expireTime }: Omit<DeclaredKey, 'name'>, now: number): boolean {
  return active && (expireTime === undefined || Date.parse(expireTime) > now)
}

export function isEmpty({ add, change, delete: removed }: Plan): boolean {
  return add.length + change.length + removed.length === 0
}

/** Whether tokens that verify now will not. */
export function takesAway({ change, delete: removed }: Plan): boolean {
  return removed.some(({ active }) => active) || change.some(({ patch }) => patch.active === false)
}

/** Whether a project that has active keys has none afterwards. */
export function endsAll(plan: Plan, existing: readonly JwtKey[], now: number): boolean {
  const ended = new Set([
    ...plan.delete.map(({ id }) => id),
    ...plan.change.filter(({ patch }) => patch.active === false).map(({ key }) => key.id),
  ])
  const begun =
    plan.add.some((key) => isActive(key, now)) || plan.change.some(({ patch }) => patch.active)
  const active = existing.filter((key) => key.active)
  return active.length > 0 && !begun && active.every(({ id }) => ended.has(id))
}

/** The plan for a person: a line per key. */
export function planText({ add, change, delete: removed }: Plan): string {
  const lines = [
    ...add.map(({ name, algorithm, active }) => {
      return `+ ${escapeControls(name)} (${algorithm}${active ? '' : ', inactive'})`
    }),
    ...change.map(
      ({ key, patch }) => `~ ${key.id} ${escapeControls(key.label)}: ${changesOf(key, patch)}`,
    ),
    ...removed.map(({ id, label, active }) => {
      return `- ${id} ${escapeControls(label)}${active ? ' (active: deactivate, then delete)' : ''}`
    }),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function changesOf(key: JwtKey, patch: JwtKeyUpdate): string {
  return Object.entries(patch)
    .map(([name, value]) => {
      const before = Object.entries(key).find(([member]) => member === name)?.[1]
      return `${name} ${escapeControls(String(before ?? 'none'))} → ${escapeControls(String(value ?? 'none'))}`
    })
    .join(', ')
}

export function planDocument({ add, change, delete: removed, undeclared }: Plan) {
  const named = ({ id, label }: JwtKey) => ({ kid: id, name: label })
  return {
    add: add.map(({ name, algorithm, active }) => ({ name, algorithm, active })),
    change: change.map(({ key, patch }) => ({ ...named(key), patch })),
    delete: removed.map(named),
    undeclared: undeclared.map(named),
  }
}
